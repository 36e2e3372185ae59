package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
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

// arguments are those of go test, told apart by what they are for.
type arguments struct {
	build   []string // go test -c
	run     []string // the binary
	workers int      // packages that are tested at once
}

// parted returns the flags of go test, each of which is one argument.
func parted(flags []string) (a arguments, err error) {
	a.workers = 1
	for _, f := range flags {
		name, value, _ := strings.Cut(strings.TrimLeft(f, "-"), "=")
		switch name {
		case "p":
			if _, err := fmt.Sscan(value, &a.workers); err != nil {
				return a, fmt.Errorf("%s: %w", f, err)
			}
		case "count", "parallel", "run", "short", "timeout":
			a.run = append(a.run, "-test."+strings.TrimLeft(f, "-"))
		case "gcflags", "ldflags", "race", "tags", "vet":
			a.build = append(a.build, f)
		default:
			return a, fmt.Errorf("%s: with -keep, it must be a flag of go test that this program knows, as one argument", f)
		}
	}
	return a, nil
}

// test tests packages in the order in which they are named.
func (k *kept) test(ctx context.Context, all chan<- event, flags []string, packages []testPackage) error {
	a, err := parted(flags)
	if err != nil {
		return err
	}
	var tests errgroup.Group
	tests.SetLimit(a.workers)
	for _, p := range packages {
		tests.Go(func() error { return k.testOne(ctx, all, a, p) })
	}
	return tests.Wait() //nolint:wrapcheck // testOne does
}

func (k *kept) testOne(ctx context.Context, all chan<- event, a arguments, p testPackage) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	binary := filepath.Join(k.folder, strings.ReplaceAll(p.path, "/", "_")+".test")
	if told, err := k.link(ctx, binary, a.build, p); err != nil {
		for line := range strings.Lines(told) {
			all <- event{Action: "build-output", Output: line}
		}
		all <- event{Action: "fail", Package: p.path}
		return fmt.Errorf("go test -c %s: %w", p.path, err)
	}
	// As go test does: in the package's folder, and with a call of os.Exit(0) taken for a failure.
	args := append([]string{"tool", "test2json", "-t", "-p", p.path, binary, "-test.v=test2json", "-test.paniconexit0"}, a.run...)
	cmd := exec.CommandContext(ctx, "go", args...) //nolint:gosec // our own tests
	cmd.Dir = p.dir
	began := time.Now()
	last, err := follow(cmd, all)
	if last.Test != "" || last.Action == "start" || last.Action == "output" { // it panicked, or its TestMain ended it
		all <- event{Action: "fail", Package: p.path, Elapsed: time.Since(began).Seconds()}
		return fmt.Errorf("%s did not end as a test does: %w", p.path, err)
	}
	return err
}

// link returns what go said.
func (k *kept) link(ctx context.Context, binary string, flags []string, p testPackage) (string, error) {
	k.linking.Lock()
	defer k.linking.Unlock()
	args := append([]string{"test", "-c", "-o", binary}, flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, p.path)...) //nolint:gosec // our own tests
	out, err := cmd.CombinedOutput()
	return string(out), err
}
