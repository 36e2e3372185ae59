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

// lockFile is in each folder: another that has such a name is not ours.
const lockFile = ".seckill-lock"

// NewFolder makes a folder in parent whose name begins with prefix, and removes those that killed
// processes have left there. A folder in use has a file that is locked by its process, and the lock
// ends with the process at the latest. remove removes the folder and unlocks it.
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
	lock, err := lockFolder(dir, syscall.O_CREAT)
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	return dir, func() error { return errors.Join(os.RemoveAll(dir), syscall.Close(lock)) }, nil
}

// removeAbandoned removes the folder if it is ours and of no process.
func removeAbandoned(dir string) {
	info, err := os.Stat(dir)
	if err != nil || time.Since(info.ModTime()) < young {
		return
	}
	lock, err := lockFolder(dir, 0)
	if err != nil {
		return
	}
	_ = os.RemoveAll(dir) // another user's stays
	_ = syscall.Close(lock)
}

// lockFolder locks a folder until the descriptor is closed or the process ends. With the flag O_CREAT it
// makes the folder ours.
func lockFolder(dir string, flag int) (int, error) {
	fd, err := syscall.Open(filepath.Join(dir, lockFile), syscall.O_RDWR|syscall.O_CLOEXEC|flag, 0o600)
	if err != nil {
		return -1, fmt.Errorf("open the lock of %s: %w", dir, err)
	}
	if err := syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = syscall.Close(fd)
		return -1, fmt.Errorf("lock %s: %w", dir, err)
	}
	return fd, nil
}
