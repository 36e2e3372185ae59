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

	"example.com/seckill/internal/platform/system"
)

// event is one line of `go test -json`.
type event struct {
	Action      string
	Test        string
	Output      string
	FailedBuild string
}

// testRun is the result of one `go test`.
type testRun struct {
	ran         bool
	noTests     bool // what ran were tests whose parts the pattern names, and none of the parts
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
	case !r.ran, r.noTests:
		return NoTests
	default:
		return Survived
	}
}

// timeout is how long one run may take. A mutant may well make a test hang.
const timeout = 4 * time.Minute

// wholeTimeout is for a run of all killers of a package.
const wholeTimeout = 20 * time.Minute

// testCommand is one that says what tests did, as `go test -json` does.
type testCommand struct {
	args, env []string
	dir       string
	flags     []string // of go, for the programs that the tests build
}

// raceFlags are gobuild.RaceFlags, which this package, a part of the program, cannot ask.
var raceFlags = []string{"-race", "-gcflags=all=-d=checkptr=0 -dwarf=false"}

// buildFlags are those of `make test`, so that the cache is shared.
func (o Options) buildFlags(overlay string, race bool) []string {
	flags := []string{"-tags=nomsgpack", "-overlay=" + overlay}
	if race {
		flags = append(flags, raceFlags...)
	}
	return flags
}

// test compiles the tests of one killer with an overlay and runs them.
func (o Options) test(ctx context.Context, k Killer, race bool, overlay string) (*testRun, error) {
	return o.start(ctx, k, testCommand{
		args: slices.Concat(
			[]string{"go", "test", "-json", "-count=1", "-failfast", "-vet=off", "-timeout=" + timeout.String(), "-run=" + k.Run},
			o.buildFlags(overlay, race), []string{k.Package}),
		dir: o.Root, flags: []string{"-overlay=" + overlay},
	})
}

// start runs a command and reads the results of the tests until the first fails. The others would only take time,
// and a mutant makes many tests wait for an event that does not come. The tests have a temporary folder of their
// own, which start removes, and their servers end with them.
func (o Options) start(ctx context.Context, k Killer, c testCommand) (*testRun, error) {
	temp, err := os.MkdirTemp("", "mutant-")
	if err != nil {
		return nil, fmt.Errorf("mutation: %w", err)
	}
	defer func() { _ = os.RemoveAll(temp) }()
	c.args = slices.Concat(o.Under, c.args)
	cmd := exec.CommandContext(ctx, c.args[0], c.args[1:]...) //nolint:gosec // the patches are ours
	cmd.Dir = c.dir
	// Some tests build the program, which must have the mutant in it too.
	// And a test that is named must not be left out of a sample.
	cmd.Env = slices.Concat(os.Environ(), c.env, []string{
		"TEST_ALL=1", "TMPDIR=" + temp, "GOFLAGS=" + goFlags(os.Getenv("GOFLAGS"), c.flags),
	})
	system.Group(cmd) // so that a signal reaches the programs that the tests start
	cmd.Cancel = func() error { return system.SignalGroup(cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	var complaints strings.Builder
	cmd.Stderr = &complaints
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("mutation: run tests: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("mutation: run tests: %w", err)
	}
	r := &testRun{of: map[string]*strings.Builder{}}
	readErr := r.read(out)
	if r.firstFailed != "" {
		_ = system.SignalGroup(cmd.Process.Pid, syscall.SIGKILL)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }() // or what still writes would wait for us
	err = cmd.Wait()
	r.output.WriteString(complaints.String())
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("mutation: run tests: %w", ctx.Err())
	case readErr != nil:
		return nil, fmt.Errorf("mutation: run tests %s: %w\n%s", k, readErr, r.output.String())
	case err == nil || errors.As(err, &exit) && (r.failedBuild || r.firstFailed != ""):
		return r, nil
	default:
		return nil, fmt.Errorf("mutation: run tests %s: %w, and no test failed\n%s", k, err, r.output.String())
	}
}

// goFlags adds flags to a value of GOFLAGS. It quotes each, because the folder of an overlay may have a space in it.
func goFlags(value string, flags []string) string {
	if len(flags) == 0 {
		return strings.TrimSpace(value)
	}
	return strings.TrimSpace(value + " '" + strings.Join(flags, "' '") + "'")
}

func (r *testRun) read(out io.Reader) error {
	for dec := json.NewDecoder(out); ; {
		var e event
		err := dec.Decode(&e) //nolint:musttag // the names are those of go test
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read its output: %w", err)
		}
		if r.note(e); r.firstFailed != "" {
			return nil
		}
	}
}

func (r *testRun) note(e event) {
	r.output.WriteString(e.Output)
	if r.of[e.Test] == nil {
		r.of[e.Test] = &strings.Builder{}
	}
	_, _ = r.of[e.Test].WriteString(e.Output)
	r.noTests = r.noTests || strings.Contains(e.Output, "testing: warning: no tests to run")
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
