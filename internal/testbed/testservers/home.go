package testservers

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const (
	homes = "seckill-test-"
	young = time.Minute // the age up to which a folder without a lock may be in creation

	memory = "/dev/shm" // a file system of Linux that is in memory
	enough = 2 << 30    // bytes free, for the servers of a test process
)

// parent returns the folder for the data of the servers: in memory if there is enough of it, where
// a flush costs nothing. What survives a kill of the server is the same there, and no test asks
// what survives a loss of power.
func parent() string {
	var free syscall.Statfs_t
	if syscall.Statfs(memory, &free) == nil && free.Bavail*uint64(free.Bsize) >= enough {
		return memory
	}
	return os.TempDir()
}

// makeHome creates the folder for the data of the shared servers in parent, and removes those that
// killed test processes have left. A folder in use is locked by its process, and the lock ends with
// the process.
func makeHome(parent string) (string, error) {
	old, err := filepath.Glob(filepath.Join(parent, homes+"*"))
	if err != nil {
		return "", fmt.Errorf("look for old test data: %w", err)
	}
	for _, dir := range old {
		removeAbandoned(dir)
	}
	dir, err := os.MkdirTemp(parent, homes)
	if err != nil {
		return "", fmt.Errorf("make a folder for the servers: %w", err)
	}
	if _, err := lockDir(dir); err != nil {
		return "", err
	}
	return dir, nil
}

// removeAbandoned removes the folder if it may.
func removeAbandoned(dir string) {
	info, err := os.Stat(dir)
	if err != nil || time.Since(info.ModTime()) < young {
		return
	}
	fd, err := lockDir(dir)
	if err != nil {
		return
	}
	_ = os.RemoveAll(dir)
	_ = syscall.Close(fd)
}

// lockDir locks a folder until the descriptor is closed or the process ends.
func lockDir(dir string) (int, error) {
	fd, err := syscall.Open(dir, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("open %s: %w", dir, err)
	}
	if err := syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = syscall.Close(fd)
		return 0, fmt.Errorf("lock %s: %w", dir, err)
	}
	return fd, nil
}
