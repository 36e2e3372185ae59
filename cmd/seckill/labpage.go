package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"seckill/internal/lab/harness"
	"seckill/internal/lab/report"
)

// labPage is the file that --html names. A regular file is written beside its place and
// renamed, so that a page is whole or not there; anything else, as /dev/stdout, is
// written to.
type labPage struct {
	path string
	file *os.File
	part bool // file is to be renamed to path
}

// newLabPage opens the file, and refuses a path that cannot be written.
func newLabPage(path string) (*labPage, error) {
	p := &labPage{path: path}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return nil, usage(fmt.Errorf("--html: %s is a folder: name a file in it", path))
	case err == nil && !info.Mode().IsRegular():
		p.file, err = os.OpenFile(path, os.O_WRONLY, 0)
	default:
		if link, err := filepath.EvalSymlinks(path); err == nil {
			p.path = link // the link stays one
		}
		p.part = true
		p.file, err = os.CreateTemp(filepath.Dir(p.path), ".lab-*.html")
	}
	if err != nil {
		return nil, usage(fmt.Errorf("--html: %w", err))
	}
	return p, nil
}

// write puts the page where it was asked for.
func (p *labPage) write(results []harness.Result) error {
	err := report.HTML(p.file, results)
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

// discard leaves nothing behind of a page that was not written.
func (p *labPage) discard() {
	_ = p.file.Close() // a second time is no harm
	if p.part {
		_ = os.Remove(p.file.Name())
	}
}
