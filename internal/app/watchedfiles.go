package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"
)

// watchInterval is the time between two reads of watched files. A change is taken when a second read returns the same
// bytes, because a writer that has not finished changes the file between the reads.
const watchInterval = 2 * time.Second

// maxWatchedFile is the size of the largest watched file, in bytes. It has room for several hundred thousand users.
const maxWatchedFile = 4 << 20

// watchedFiles are files that belong together, such as a certificate and its key. The program takes them together, and
// takes all of them again when one of them has changed.
//
// A half of a file can be valid. Half of a list is a list, and half of a chain of certificates is a chain.
type watchedFiles struct {
	key    string // the key of the configuration, for the log
	paths  []string
	take   func(texts [][]byte) error // takes the texts; if it fails, it keeps the earlier texts
	taken  func(log *slog.Logger)     // logs that a change was taken; if it is nil, look logs the key
	texts  [][]byte                   // the texts that were taken last
	seen   [][]byte                   // the texts of the last read
	failed string                     // why take or read failed last, so that look logs each cause once
}

// watch takes the files, and takes them again when they have changed, until you call stop. It leaves out files whose
// path is empty. If watch cannot take the files at the start, it returns a usage error, because the operator must
// repair them.
func watch(log *slog.Logger, all ...watchedFiles) (stop func(), err error) {
	all = slices.DeleteFunc(all, func(f watchedFiles) bool { return f.paths[0] == "" })
	for i := range all {
		if err := all[i].takeFirst(); err != nil {
			return nil, Usage(fmt.Errorf("%s: %w", all[i].key, err))
		}
	}
	if len(all) == 0 {
		return func() {}, nil
	}
	return startJobs(context.Background(), func(ctx context.Context) {
		every(ctx, watchInterval, func() {
			for i := range all {
				all[i].look(ctx, log)
			}
		})
	}), nil
}

// takeFirst takes the files at the start. It takes the first read, because there is no earlier content that could stay
// in use.
func (f *watchedFiles) takeFirst() error {
	texts, err := f.read()
	if err == nil {
		err = f.take(texts)
	}
	f.texts, f.seen = texts, texts
	return err
}

// look reads the files, takes a change and logs it. If it cannot read or take the files, the earlier content stays in
// use.
func (f *watchedFiles) look(ctx context.Context, log *slog.Logger) {
	changed, err := f.takeChange()
	switch {
	case errors.Is(err, errUnsettled):
	case err != nil && err.Error() != f.failed:
		f.failed = err.Error()
		log.WarnContext(ctx, "a changed file is not taken: what it held before stays in use", "key", f.key, "error", err)
	case err == nil && (changed || f.failed != ""):
		f.failed = ""
		if f.taken != nil {
			f.taken(log)
			return
		}
		log.InfoContext(ctx, "a changed file is taken", "key", f.key)
	}
}

// takeChange takes the files if they differ from the texts in use and are equal to the texts of the last read.
func (f *watchedFiles) takeChange() (changed bool, err error) {
	texts, err := f.read()
	settled := same(texts, f.seen)
	f.seen = texts
	switch {
	case err != nil:
		return false, err
	case same(texts, f.texts):
		return false, nil
	case !settled:
		return false, errUnsettled
	}
	if err := f.take(texts); err != nil {
		return false, err
	}
	f.texts = texts
	return true, nil
}

// errUnsettled means that the files have changed since the last read.
var errUnsettled = errors.New("the file is still being written")

func same(a, b [][]byte) bool { return slices.EqualFunc(a, b, bytes.Equal) }

// read returns the texts of the files, in the order of paths.
func (f *watchedFiles) read() (texts [][]byte, err error) {
	texts = make([][]byte, len(f.paths))
	for i, path := range f.paths {
		if info, err := os.Stat(path); err == nil && info.Size() > maxWatchedFile {
			return nil, fmt.Errorf("%s is larger than %d bytes", path, maxWatchedFile)
		}
		if texts[i], err = os.ReadFile(path); err != nil {
			return nil, err //nolint:wrapcheck // it names the file
		}
	}
	return texts, nil
}
