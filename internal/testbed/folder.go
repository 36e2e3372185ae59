package testbed

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// young is the age up to which a folder without a lock may be in creation.
const young = time.Minute

// NewFolder makes a folder in parent whose name begins with prefix, and removes those that killed
// processes have left there. A folder in use is locked by its process, and the lock ends with the
// process at the latest. remove removes the folder and unlocks it.
func NewFolder(parent, prefix string) (dir string, remove func() error, err error) {
	old, err := filepath.Glob(filepath.Join(parent, prefix+"*"))
	if err != nil {
		return "", nil, fmt.Errorf("look for folders that were left: %w", err)
	}
	for _, dir := range old {
		removeAbandoned(dir)
	}
	if dir, err = os.MkdirTemp(parent, prefix); err != nil {
		return "", nil, fmt.Errorf("make a folder for the servers: %w", err)
	}
	lock, err := lockFolder(dir)
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	return dir, func() error { return errors.Join(os.RemoveAll(dir), syscall.Close(lock)) }, nil
}

// removeAbandoned removes the folder if it may.
func removeAbandoned(dir string) {
	info, err := os.Stat(dir)
	if err != nil || time.Since(info.ModTime()) < young {
		return
	}
	lock, err := lockFolder(dir)
	if err != nil {
		return
	}
	_ = os.RemoveAll(dir) // another user's stays
	_ = syscall.Close(lock)
}

// lockFolder locks a folder until the descriptor is closed or the process ends.
func lockFolder(dir string) (int, error) {
	fd, err := syscall.Open(dir, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("open %s: %w", dir, err)
	}
	if err := syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = syscall.Close(fd)
		return -1, fmt.Errorf("lock %s: %w", dir, err)
	}
	return fd, nil
}
