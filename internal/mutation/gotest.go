package mutation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// event is one line of `go test -json`.
type event struct {
	Action      string
	Test        string
	Output      string
	FailedBuild string
}

// testRun is what one `go test` came to.
type testRun struct {
	ran         bool
	failedBuild bool
	firstFailed string
	said        strings.Builder             // by the first that failed
	output      strings.Builder             // of all
	of          map[string]*strings.Builder // what each test has said so far
}

// verdict of a run with a mutant in it. That the program failed is no kill unless
// a test did: a server may be missing, or the mutant may not be Go.
func (r *testRun) verdict() Verdict {
	switch {
	case r.failedBuild:
		return NotCompiling
	case r.firstFailed != "":
		return Killed
	case !r.ran:
		return NoTests
	default:
		return Survived
	}
}

// timeout is how long one run may take. A mutant may well make a test hang.
const timeout = 4 * time.Minute

// test runs one killer, built as `make test` builds so that the cache is shared.
func (o Options) test(ctx context.Context, k Killer, flags ...string) (*testRun, error) {
	args := slices.Concat(o.Under, []string{
		"go", "test", "-json", "-tags=nomsgpack", "-count=1", "-failfast",
		"-vet=off", "-timeout=" + timeout.String(), "-run=" + k.Run,
	}, flags)
	if o.Race {
		args = append(args, "-race")
	}
	cmd := exec.CommandContext(ctx, args[0], append(args[1:], k.Package)...) //nolint:gosec // the patches are ours
	cmd.Dir = o.Root
	// Some tests build the program, which must have the mutant in it too.
	// And a test that is named must not be left out of a sample.
	cmd.Env = append(os.Environ(), "TEST_ALL=1", strings.TrimSpace("GOFLAGS="+os.Getenv("GOFLAGS")+" "+strings.Join(flags, " ")))
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // go test ends its children
	cmd.WaitDelay = 10 * time.Second
	var complaints strings.Builder
	cmd.Stderr = &complaints
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("mutation: go test: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("mutation: go test: %w", err)
	}
	r := &testRun{of: map[string]*strings.Builder{}}
	readErr := r.read(out)
	err = cmd.Wait()
	r.output.WriteString(complaints.String())
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("mutation: go test: %w", ctx.Err())
	case readErr != nil:
		return nil, fmt.Errorf("mutation: go test %s: %w\n%s", k, readErr, r.output.String())
	case err == nil || errors.As(err, &exit) && (r.failedBuild || r.firstFailed != ""):
		return r, nil
	default:
		return nil, fmt.Errorf("mutation: go test %s: %w, and no test failed\n%s", k, err, r.output.String())
	}
}

func (r *testRun) read(out io.Reader) error {
	for dec := json.NewDecoder(out); ; {
		var e event
		err := dec.Decode(&e) //nolint:musttag // the names are those of go test
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			_, _ = io.Copy(io.Discard, out) // or go test would wait for us
			return fmt.Errorf("read its output: %w", err)
		}
		r.note(e)
	}
}

func (r *testRun) note(e event) {
	r.output.WriteString(e.Output)
	if r.of[e.Test] == nil {
		r.of[e.Test] = &strings.Builder{}
	}
	_, _ = r.of[e.Test].WriteString(e.Output)
	switch e.Action {
	case "build-fail":
		r.failedBuild = true
	case "run":
		r.ran = true
	case "fail":
		r.failedBuild = r.failedBuild || e.FailedBuild != ""
		if r.firstFailed == "" && e.Test != "" {
			r.firstFailed = e.Test
			r.said.WriteString(r.of[e.Test].String())
		}
	}
}
