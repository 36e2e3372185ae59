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

// watchInterval is the time between two looks at watched files. The second look that sees the same bytes takes a
// change, because a writer that has not finished changes the file in between.
const watchInterval = 2 * time.Second

// maxWatchedFile bounds what is read: some hundred thousand users.
const maxWatchedFile = 4 << 20

// watchedFiles are files that belong together, such as a certificate and its key. They are taken
// together, and anew when one of them has changed.
//
// Half of a file can be valid: half of a list is a list, and half of a chain of certificates is a chain.
type watchedFiles struct {
	key    string // of the configuration, for the log
	paths  []string
	take   func(texts [][]byte) error // keeps what it had when it fails
	taken  func(log *slog.Logger)     // logs that a change was taken; nil logs the key
	texts  [][]byte                   // as they were taken last
	seen   [][]byte                   // as the last look saw them
	failed string                     // why they were not taken last; one line a cause
}

// watch takes the files, without those whose path is empty, and takes them again whenever they have
// changed, until stop is called. Files that cannot be taken now are the operator's to mend.
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

// takeFirst takes the files as they are at the start, where no earlier content could stay in use.
func (f *watchedFiles) takeFirst() error {
	texts, err := f.read()
	if err == nil {
		err = f.take(texts)
	}
	f.texts, f.seen = texts, texts
	return err
}

// look reads the files, and logs what has changed. What cannot be read or taken leaves the earlier
// content in use.
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

// takeChange takes the files if they are not as they were taken, and are as the last look saw them.
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

// errUnsettled means that the files have changed since the last look.
var errUnsettled = errors.New("the file is still being written")

func same(a, b [][]byte) bool { return slices.EqualFunc(a, b, bytes.Equal) }

// read returns the texts of the files.
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
