// Command testreport runs `go test` and reports its progress:
//
//	go run ./internal/testing/testreport [-skips allow] [-first p,q] [-norace r,s] [-keep folder] -- -race -count=1 ./...
//
//	go list ──▶ how many packages have tests
//	go test -json ─┬▶ events ──▶ a line a package, a line every ten seconds,
//	go test -json ─┘             the output of what failed, what was skipped and why,
//	(-norace, p=1)               the slowest tests
//
// Packages named with -norace are tested without the race detector, one at a time beside the others:
// those that only compute, where it finds nothing and takes eight times as long.
//
// With -keep the test binaries stay in a folder, and only those that have changed are linked again; the processor
// time of each package is told, too.
//
// It exits with 1 if a test failed, a package did not build, or a test was skipped
// and -skips is not allow. What it does not do is run anything twice: a test that
// failed has failed.
package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"example.com/seckill/internal/testing/gobuild"
)

// silence is how long nothing is printed. It is looked for every second, so that a line comes at least every ten.
const silence = 9 * time.Second

func main() {
	skips := flag.String("skips", "fail", "what a skipped test is: fail or allow")
	first := flag.String("first", "", "packages to begin with, separated by commas: the longest, so that none is left for the end")
	noRace := flag.String("norace", "", "packages to test without the race detector, separated by commas")
	keep := flag.String("keep", "", "a folder that keeps the test binaries from one run to the next; go test links all of them every time")
	slowest := flag.Int("slowest", 15, "how many of the slowest tests are listed at the end")
	flag.Parse()
	if *skips != "fail" && *skips != "allow" || flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "usage: testreport [-skips fail|allow] [-first packages] [-norace packages] [-keep folder] [-slowest n]",
			"-- arguments of go test")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	r := &report{out: os.Stdout, now: time.Now, allowSkips: *skips == "allow", slowest: *slowest}
	err := run(ctx, r, options{strings.Split(*first, ","), strings.Split(*noRace, ","), *keep}, flag.Args())
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "testreport:", err)
	}
	if err != nil || !r.ok() {
		os.Exit(1)
	}
}

// options are how packages are tested.
type options struct {
	first, noRace []string // packages
	keep          string   // the folder of the test binaries; "" is none
}

// testPackage is a package that has tests.
type testPackage struct{ path, dir string }

// run lists the packages, tests them and reports. Its error is about go test itself; what the
// tests came to is known by r.
func run(ctx context.Context, r *report, o options, args []string) error {
	flags, patterns := split(args)
	packages, err := list(ctx, flags, patterns)
	if err != nil {
		return err
	}
	test := test
	if o.keep != "" {
		if _, err := parted(flags); err != nil {
			return err
		}
		folder, err := filepath.Abs(o.keep)
		if err != nil {
			return fmt.Errorf("the folder of the test binaries: %w", err)
		}
		test = (&kept{folder: folder}).test
	}
	// cmd/go tests packages in the order in which they are named.
	slices.SortStableFunc(packages, func(a, b testPackage) int { return cmp.Compare(place(o.first, a), place(o.first, b)) })
	r.begin(len(packages))

	var raced, plain []testPackage
	for _, p := range packages {
		if place(o.noRace, p) < len(o.noRace) {
			plain = append(plain, p)
		} else {
			raced = append(raced, p)
		}
	}
	all := make(chan event)
	var tests errgroup.Group
	if len(raced) > 0 {
		tests.Go(func() error { return test(ctx, all, flags, raced) })
	}
	if len(plain) > 0 {
		tests.Go(func() error { return test(ctx, all, append(withoutRace(flags), "-p=1"), plain) })
	}
	ended := make(chan error, 1)
	go func() {
		ended <- tests.Wait()
		close(all)
	}()
	r.follow(all)
	err = <-ended
	r.end()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && !r.ok() {
		return nil // it is told already
	}
	return err
}

// test runs go test and sends its events.
func test(ctx context.Context, all chan<- event, flags []string, packages []testPackage) error {
	args := append([]string{"test", "-json"}, flags...)
	for _, p := range packages {
		args = append(args, p.path)
	}
	cmd := exec.CommandContext(ctx, "go", args...) //nolint:gosec // go test itself
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("go test: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("go test: %w", err)
	}
	send(out, all)
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("go test: %w", err)
	}
	return nil
}

// withoutRace returns the flags but those of the race detector.
func withoutRace(flags []string) []string {
	return slices.DeleteFunc(slices.Clone(flags), func(f string) bool { return slices.Contains(gobuild.RaceFlags(), f) })
}

// place is where a package stands among the first, or behind them.
func place(first []string, pkg testPackage) int {
	i := slices.IndexFunc(first, func(f string) bool { return f != "" && strings.HasSuffix(pkg.path, "/"+f) })
	if i < 0 {
		return len(first)
	}
	return i
}

// split parts the arguments of go test into its flags and the packages behind them.
func split(args []string) (flags, patterns []string) {
	i := len(args)
	for i > 0 && (strings.HasPrefix(args[i-1], "./") || args[i-1] == ".") {
		i--
	}
	return args[:i], args[i:]
}

// list returns the packages that have tests.
func list(ctx context.Context, flags, patterns []string) (packages []testPackage, err error) {
	args := []string{"list", "-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}\t{{.Dir}}{{end}}"}
	for _, f := range flags {
		if strings.HasPrefix(f, "-tags") {
			args = append(args, f)
		}
	}
	cmd := exec.CommandContext(ctx, "go", append(args, patterns...)...) //nolint:gosec // of the same packages
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	for line := range strings.Lines(string(out)) {
		if path, dir, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			packages = append(packages, testPackage{path, dir})
		}
	}
	if len(packages) == 0 {
		return nil, fmt.Errorf("no tests in %s", strings.Join(patterns, " "))
	}
	return packages, nil
}

// send decodes the lines of go test -json. A line that is none, as of a linker, is passed on as
// output of no package.
func send(out io.Reader, all chan<- event) {
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			e := event{}
			if json.Unmarshal([]byte(line), &e) != nil { //nolint:musttag // the names are those of go test
				e = event{Action: "build-output", Output: line}
			}
			all <- e
		}
		if err != nil {
			return
		}
	}
}
