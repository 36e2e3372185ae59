package servers

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

// young is the age up to which a folder without a lock may be in creation.
const young = time.Minute

// lockFile is in each folder: another that has such a name is not ours.
const lockFile = ".seckill-lock"

// locks keeps the locks of this process by their folders. The garbage collector closes a file that has no
// reference, and the lock would end with its file while servers still run in the folder.
var locks sync.Map

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
	lock, err := lockFolder(dir, os.O_CREATE)
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	locks.Store(dir, lock)
	return dir, func() error {
		locks.Delete(dir)
		return removeLocked(dir, lock)
	}, nil
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
	_ = removeLocked(dir, lock) // another user's stays
}

// removeLocked removes a folder and its lock. The lock file goes last: the other entries are removed while this
// process still holds the lock, and Windows does not remove an open file.
func removeLocked(dir string, lock *flock.Flock) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if e.Name() != lockFile {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	return errors.Join(err, lock.Close(), os.RemoveAll(dir))
}

// errInUse means that another process uses the folder.
var errInUse = errors.New("another process uses it")

// lockFolder locks a folder until the lock is closed or the process ends. With the flag O_CREATE it
// makes the folder ours.
func lockFolder(dir string, flag int) (*flock.Flock, error) {
	lock := flock.New(filepath.Join(dir, lockFile), flock.SetFlag(os.O_RDWR|flag))
	locked, err := lock.TryLock()
	if err == nil && !locked {
		err = errInUse
	}
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	return lock, nil
}
