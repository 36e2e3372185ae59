package servers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Copy copies the data as they are at one moment into dir, as a snapshot of the disk does. It makes dir if
// necessary, and pauses the server meanwhile. StartMariaDB starts another server on the copy, and SetBack
// starts this one on it.
func (m *MariaDB) Copy(dir string) error {
	if err := m.Pause(); err != nil {
		return err
	}
	err := copyFiles(m.data, dataOf(dir), whole)
	return errors.Join(err, m.Resume())
}

// SetBack kills the server, if it runs, and starts it on the copy in dir, at the same address. It moves the
// copy, so a copy serves once.
func (m *MariaDB) SetBack(ctx context.Context, dir string) error {
	if err := m.Kill(); err != nil {
		return err
	}
	if err := os.RemoveAll(m.data); err != nil {
		return fmt.Errorf("remove the data of MariaDB: %w", err)
	}
	if err := os.Rename(dataOf(dir), m.data); err != nil {
		return fmt.Errorf("move the copy into place: %w", err)
	}
	return m.Restart(ctx)
}

// dataOf returns the folder in which a MariaDB keeps its data.
func dataOf(dir string) string { return filepath.Join(dir, "my") }

// copyFiles copies folders and files. It leaves out sockets, which are the server's own, and temporary
// tables, which the server makes anew.
func copyFiles(from, to string, copyFile func(from, to string) error) error {
	err := filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err //nolint:wrapcheck // as below
		}
		switch at := filepath.Join(to, rel); {
		case e.IsDir():
			return os.MkdirAll(at, 0o700)
		case e.Type().IsRegular() && e.Name() != "ibtmp1":
			return copyFile(path, at)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("copy the data of MariaDB: %w", err)
	}
	return nil
}

// whole copies a file with its zeros. The file system has all blocks of the copy, so a server writes to a
// copied redo log as fast as to its own.
func whole(from, to string) error {
	return copyFile(from, to, func(out *os.File, in io.Reader) error {
		_, err := io.Copy(out, in)
		return err //nolint:wrapcheck // copyFiles'
	})
}

// sparse copies a file and leaves out its zeros, and most of a new redo log is zeros. The file system
// stores nothing for these holes, and reads them as zeros.
func sparse(from, to string) error {
	return copyFile(from, to, func(out *os.File, in io.Reader) error {
		size, err := io.Copy(holes{out}, in)
		return errors.Join(err, out.Truncate(size)) // the file may end in a hole
	})
}

func copyFile(from, to string, write func(out *os.File, in io.Reader) error) error {
	in, err := os.Open(from)
	if err != nil {
		return err //nolint:wrapcheck // copyFiles'
	}
	defer func() { _ = in.Close() }() // only read
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err //nolint:wrapcheck // copyFiles'
	}
	return errors.Join(write(out, in), out.Close())
}

// holes is a file that skips blocks of zeros.
type holes struct{ file *os.File }

var zeros [32 << 10]byte // as much as io.Copy writes at once

func (h holes) Write(p []byte) (int, error) {
	if len(p) <= len(zeros) && bytes.Equal(p, zeros[:len(p)]) {
		_, err := h.file.Seek(int64(len(p)), io.SeekCurrent)
		return len(p), err
	}
	return h.file.Write(p) //nolint:wrapcheck // copyFiles'
}
