package report

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"example.com/seckill/internal/tools/lab/harness"
)

// File is the page that is written at the end of a run. It writes a regular file under a
// temporary name and renames it, so that a page is complete or absent. Anything else, such
// as /dev/stdout, it writes directly.
type File struct {
	path string
	file *os.File
	part bool // file is to be renamed to path
}

// NewFile opens the page. It fails if the path cannot be written.
func NewFile(path string) (*File, error) {
	p := &File{path: path}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return nil, fmt.Errorf("%s is a folder: name a file in it", path)
	case err == nil && !info.Mode().IsRegular():
		p.file, err = os.OpenFile(path, os.O_WRONLY, 0)
	default:
		if link, err := filepath.EvalSymlinks(path); err == nil {
			p.path = link // keeps the link
		}
		p.part = true
		p.file, err = os.CreateTemp(filepath.Dir(p.path), ".lab-*.html")
	}
	if err != nil {
		if at, ok := errors.AsType[*os.PathError](err); ok { // it may name the temporary file
			err = at.Err
		}
		return nil, fmt.Errorf("cannot write %s: %w", path, err)
	}
	return p, nil
}

// Write writes the page to its path.
func (p *File) Write(results []harness.Result) error {
	err := HTML(p.file, results)
	if p.part {
		err = errors.Join(err, p.file.Chmod(0o644))
	}
	err = errors.Join(err, p.file.Close())
	if err == nil && p.part {
		err = os.Rename(p.file.Name(), p.path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", p.path, err)
	}
	p.part = false
	return nil
}

// Discard removes what is left of a page that was not written.
func (p *File) Discard() {
	_ = p.file.Close() // closing it twice is harmless
	if p.part {
		_ = os.Remove(p.file.Name())
	}
}
