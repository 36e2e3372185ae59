package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// kept is a folder of test binaries. go links one again only if something that it is made of has changed, where
// `go test` links each every time: for fifty packages with the race detector, that is a tenth of the whole run.
type kept struct {
	folder  string
	linking sync.Mutex // two at once would compile the same packages twice
}

// siblings are the packages below one folder. They are linked together: that nothing has changed go finds of fifty
// packages at once in the processor time that it takes for two of them one after the other.
type siblings struct {
	folder   string // of their binaries
	packages []string
	once     sync.Once
	linked   bool // all of them
}

func (s *siblings) binary(p testPackage) string {
	return filepath.Join(s.folder, path.Base(p.path)+".test")
}

// arguments are those of go test, told apart by what they are for.
type arguments struct {
	build   []string // go test -c
	run     []string // the binary
	workers int      // packages that are tested at once
	timeout time.Duration
	convert string // the path of test2json
}

// parted returns the flags of go test, each of which is one argument.
func parted(flags []string) (a arguments, err error) {
	a.workers, a.timeout = 1, 10*time.Minute // as go test has it
	for _, f := range flags {
		name, value, _ := strings.Cut(strings.TrimLeft(f, "-"), "=")
		switch name {
		case "p":
			if _, err := fmt.Sscan(value, &a.workers); err != nil {
				return a, fmt.Errorf("%s: %w", f, err)
			}
		case "timeout":
			if a.timeout, err = time.ParseDuration(value); err != nil {
				return a, fmt.Errorf("%s: %w", f, err)
			}
		case "count", "parallel", "run", "short":
			a.run = append(a.run, "-test."+strings.TrimLeft(f, "-"))
		case "gcflags", "ldflags", "race", "tags", "vet":
			a.build = append(a.build, f)
		default:
			return a, fmt.Errorf("%s: with -keep, it must be a flag of go test that this program knows, as one argument", f)
		}
	}
	a.run = append(a.run, "-test.timeout="+a.timeout.String())
	return a, nil
}

// test tests packages in the order in which they are named.
func (k *kept) test(ctx context.Context, all chan<- event, flags []string, packages []testPackage) error {
	a, err := parted(flags)
	if err != nil {
		return err
	}
	converter, err := exec.CommandContext(ctx, "go", "tool", "-n", "test2json").Output()
	if err != nil {
		return fmt.Errorf("find test2json: %w", err)
	}
	a.convert = strings.TrimSpace(string(converter))
	families := map[string]*siblings{}
	for _, p := range packages {
		parent := path.Dir(p.path)
		if families[parent] == nil {
			families[parent] = &siblings{folder: filepath.Join(k.folder, filepath.FromSlash(parent))}
		}
		families[parent].packages = append(families[parent].packages, p.path)
	}
	var tests errgroup.Group
	tests.SetLimit(a.workers)
	for _, p := range packages {
		tests.Go(func() error { return k.testOne(ctx, all, a, families[path.Dir(p.path)], p) })
	}
	return tests.Wait() //nolint:wrapcheck // it was stopped
}

// testOne tells by events what becomes of a package: its error is that of ctx.
func (k *kept) testOne(ctx context.Context, all chan<- event, a arguments, s *siblings, p testPackage) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if told, err := k.link(ctx, s, a.build, p); err != nil {
		for line := range strings.Lines(told) {
			all <- event{Action: "build-output", Output: line}
		}
		all <- event{Action: "fail", Package: p.path}
		return nil
	}
	began, verdict := time.Now(), "pass"
	processor, err := execute(ctx, all, a, s.binary(p), p)
	if err != nil {
		all <- event{Action: "output", Package: p.path, Output: err.Error()}
		verdict = "fail"
	}
	all <- event{Action: verdict, Package: p.path, Elapsed: time.Since(began).Seconds(), processor: processor}
	return nil
}

// outputDelay is how long a process that the tests have left may hold their output.
const outputDelay = 5 * time.Second

// execute runs a test binary as go test does: in the package's folder, with a call of os.Exit(0) taken for a failure,
// and a minute after its own timeout it is killed. It sends all events but the package's last, and returns the
// processor time of the binary and of all processes that it waited for.
func execute(ctx context.Context, all chan<- event, a arguments, binary string, p testPackage) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, a.timeout+time.Minute)
	defer cancel()
	convert := exec.Command(a.convert, "-t", "-p", p.path) //nolint:gosec,noctx // it ends with its input
	in, err := convert.StdinPipe()
	if err != nil {
		return 0, fmt.Errorf("test2json: %w", err)
	}
	out, err := convert.StdoutPipe()
	if err != nil {
		return 0, fmt.Errorf("test2json: %w", err)
	}
	if err := convert.Start(); err != nil {
		return 0, fmt.Errorf("test2json: %w", err)
	}
	events := make(chan event)
	go func() {
		defer close(events)
		send(out, events)
	}()
	args := append([]string{"-test.v=test2json", "-test.paniconexit0"}, a.run...)
	cmd := exec.CommandContext(ctx, binary, args...) //nolint:gosec // our own tests
	ended := make(chan error, 1)
	go func() {
		cmd.Dir, cmd.WaitDelay = p.dir, outputDelay
		cmd.Stdout = struct{ io.Writer }{in} // no file, which a process that is left could hold for ever
		cmd.Stderr = cmd.Stdout
		err := cmd.Run()
		_ = in.Close()
		ended <- err
	}()
	for e := range events {
		if last := e.Test == "" && (e.Action == "pass" || e.Action == "fail" || e.Action == "skip"); !last {
			all <- e
		}
	}
	err = errors.Join(<-ended, convert.Wait())
	if err != nil {
		err = fmt.Errorf("%s: %w", p.path, err)
	}
	if cmd.ProcessState == nil {
		return 0, err
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), err
}

// link links a package's tests, with those of all its siblings if they can be, and returns what go said.
func (k *kept) link(ctx context.Context, s *siblings, flags []string, p testPackage) (string, error) {
	k.linking.Lock()
	defer k.linking.Unlock()
	s.once.Do(func() {
		_, err := link(ctx, s.folder, flags, s.packages...)
		s.linked = err == nil
	})
	if s.linked {
		return "", nil
	}
	return link(ctx, s.folder, flags, p.path) // whose fault it is, and what it is
}

func link(ctx context.Context, folder string, flags []string, packages ...string) (string, error) {
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return err.Error(), fmt.Errorf("the folder of the test binaries: %w", err)
	}
	args := slices.Concat([]string{"test", "-c", "-o", folder}, flags, packages)
	out, err := exec.CommandContext(ctx, "go", args...).CombinedOutput() //nolint:gosec // our own tests
	return string(out), err
}
