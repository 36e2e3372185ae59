//go:build !linux

package servers

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// syncFiles writes every file below dir to the disk. Only Linux writes a whole file system with one call.
func syncFiles(dir string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error { //nolint:wrapcheck // keepData gives up on any error
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		file, err := os.OpenFile(path, os.O_RDWR, 0) // Windows flushes a file that is open for writing
		if err != nil {
			return err //nolint:wrapcheck // the same
		}
		return errors.Join(file.Sync(), file.Close())
	})
}
