package servers

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncFiles writes everything that belongs to the file system of dir to the disk.
func syncFiles(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err //nolint:wrapcheck // keepData gives up on any error
	}
	defer func() { _ = d.Close() }() // only read
	return unix.Syncfs(int(d.Fd()))  //nolint:wrapcheck // the same
}
