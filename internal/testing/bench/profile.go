package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

// profileSeconds is how long a profile is taken, from the first tap of a measurement on.
const profileSeconds = 3

// profileFile returns the file for the CPU profile of a round of a path, or "" if none is wanted.
func (o Options) profileFile(path string, round int) string {
	if o.Profiles == "" {
		return ""
	}
	return filepath.Join(o.Profiles, fmt.Sprintf("%s-%d.pprof", strings.ReplaceAll(path, " ", "-"), round+1))
}

// profileFrom is profile from a moment on. An error ends the measurement.
func (s *deployment) profileFrom(ctx context.Context, begin <-chan struct{}, file string, cancel context.CancelCauseFunc) {
	select {
	case <-begin:
		if err := s.profile(ctx, file); err != nil {
			cancel(err)
		}
	case <-ctx.Done():
	}
}

// profile writes a CPU profile of the first process to file, for `go tool pprof`.
func (s *deployment) profile(ctx context.Context, file string) (err error) {
	url := fmt.Sprintf("%s/debug/pprof/profile?seconds=%d", s.process.Admin, profileSeconds)
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	a, err := admins.Do(q)
	if err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	defer func() { err = errors.Join(err, a.Body.Close()) }()
	if a.StatusCode != http.StatusOK {
		return fmt.Errorf("profile: %s", a.Status)
	}
	f, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	_, err = io.Copy(f, a.Body)
	return errors.Join(err, f.Close())
}
