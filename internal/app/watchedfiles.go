package app

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"
)

// watchInterval is how often watched files are looked at.
const watchInterval = 2 * time.Second

// maxWatchedFile bounds what is read: some hundred thousand users.
const maxWatchedFile = 4 << 20

// watchedFiles are files that belong together, such as a certificate and its key. They are taken
// together, and anew when one of them has changed.
type watchedFiles struct {
	key    string // of the configuration, for the log
	paths  []string
	take   func(texts [][]byte) error // keeps what it had when it fails
	texts  [][]byte                   // as they were taken last
	failed string                     // why they were not taken last; one line a cause
}

// watch takes the files, without those whose path is empty, and takes them again whenever they have
// changed, until stop is called. Files that cannot be taken now are the operator's to mend.
func watch(log *slog.Logger, all ...watchedFiles) (stop func(), err error) {
	all = slices.DeleteFunc(all, func(f watchedFiles) bool { return f.paths[0] == "" })
	for i := range all {
		if _, err := all[i].read(); err != nil {
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

// look reads the files, and logs what has changed. What cannot be read or taken leaves the earlier
// content in use.
func (f *watchedFiles) look(ctx context.Context, log *slog.Logger) {
	changed, err := f.read()
	switch {
	case err != nil && err.Error() != f.failed:
		f.failed = err.Error()
		log.WarnContext(ctx, "a changed file is not taken: what it held before stays in use", "key", f.key, "error", err)
	case err == nil && (changed || f.failed != ""):
		f.failed = ""
		log.InfoContext(ctx, "a changed file is taken", "key", f.key)
	}
}

// read takes the files if they are not as they were.
func (f *watchedFiles) read() (changed bool, err error) {
	texts := make([][]byte, len(f.paths))
	for i, path := range f.paths {
		if info, err := os.Stat(path); err == nil && info.Size() > maxWatchedFile {
			return false, fmt.Errorf("%s is larger than %d bytes", path, maxWatchedFile)
		}
		if texts[i], err = os.ReadFile(path); err != nil {
			return false, err //nolint:wrapcheck // it names the file
		}
	}
	if slices.EqualFunc(texts, f.texts, bytes.Equal) {
		return false, nil
	}
	if err := f.take(texts); err != nil {
		return false, err
	}
	f.texts = texts
	return true, nil
}
