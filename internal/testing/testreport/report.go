package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// event is a line of `go test -json`: see `go doc test2json`.
type event struct {
	Time    time.Time
	Action  string
	Package string
	Test    string
	Elapsed float64
	Output  string

	// processor is the processor time of a package that has ended, with its servers and programs; 0 is unknown.
	processor time.Duration
}

// report is what is known of a run of go test.
type report struct {
	out        io.Writer
	now        func() time.Time
	allowSkips bool
	slowest    int

	began, printed time.Time
	total, done    int
	running        map[string]*running // by package
	passed, failed int                 // tests, without those inside of others
	brokenPackages int
	skipped        map[string]int // tests by the reason that they gave
	undrawn        int            // tests that the seed did not draw
	tests          []timed
	costs          []cost
}

// running is a package that is under test.
type running struct {
	began  time.Time
	tests  []timed // those that have begun, the last begun behind
	output map[string]*strings.Builder
}

// cost is what a package has cost.
type cost struct {
	pkg       string
	processor time.Duration
}

type timed struct {
	pkg, test string
	began     time.Time
	took      time.Duration
}

func (r *report) begin(packages int) {
	r.began, r.total = r.now(), packages
	r.running, r.skipped = map[string]*running{}, map[string]int{}
	r.say("%d packages; the first ones are compiled before anything can be tested", packages)
}

// follow takes events until there are no more, and never stays silent for longer than it may.
func (r *report) follow(all <-chan event) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case e, more := <-all:
			if !more {
				return
			}
			r.note(e)
		case <-tick.C:
			r.breakSilence()
		}
	}
}

// ok reports whether nothing failed and nothing was left out that may not be.
func (r *report) ok() bool {
	return r.failed == 0 && r.brokenPackages == 0 && r.passed > 0 && (r.allowSkips || len(r.skipped) == 0)
}

func (r *report) note(e event) {
	switch e.Action {
	case "build-output":
		r.say("%s", strings.TrimRight(e.Output, "\n"))
	case "start":
		r.running[e.Package] = &running{began: r.now(), output: map[string]*strings.Builder{}}
	case "run":
		p := r.running[e.Package]
		p.tests = append(p.tests, timed{pkg: e.Package, test: e.Test, began: r.now()})
	case "output":
		r.keep(e)
	case "pass", "fail", "skip":
		if e.Test == "" {
			r.packageEnded(e)
		} else {
			r.testEnded(e)
		}
	}
}

func (r *report) keep(e event) {
	p := r.running[e.Package]
	if p == nil {
		r.say("%s", strings.TrimRight(e.Output, "\n"))
		return
	}
	if p.output[e.Test] == nil {
		p.output[e.Test] = &strings.Builder{}
	}
	_, _ = p.output[e.Test].WriteString(e.Output)
}

func (r *report) testEnded(e event) {
	p := r.running[e.Package]
	p.tests = slices.DeleteFunc(p.tests, func(t timed) bool { return t.test == e.Test })
	top := !strings.Contains(e.Test, "/")
	switch {
	case e.Action == "skip":
		if why := reason(p.output[e.Test]); strings.HasPrefix(why, notDrawn) {
			r.undrawn++
		} else {
			r.skipped[why]++
		}
	case e.Action == "fail" && top:
		r.failed++
	case top:
		r.passed++
	}
	if e.Action != "fail" {
		delete(p.output, e.Test)
	}
	if top {
		r.tests = append(r.tests, timed{pkg: e.Package, test: e.Test, took: time.Duration(e.Elapsed * float64(time.Second))})
	}
}

func (r *report) packageEnded(e event) {
	r.done++
	verdict := "ok"
	if e.Action == "fail" {
		verdict = "FAIL"
		r.brokenPackages++
		r.printFailures(e.Package)
	}
	delete(r.running, e.Package)
	if e.processor > 0 {
		r.costs = append(r.costs, cost{e.Package, e.processor})
	}
	r.say("%-4s  %-34s %6.1f s   %d of %d packages after %s", verdict, short(e.Package), e.Elapsed, r.done, r.total, r.since(r.began))
}

// printFailures prints what the tests that did not pass have written, and what was written outside of any.
func (r *report) printFailures(pkg string) {
	p := r.running[pkg]
	if p == nil {
		return
	}
	for _, test := range slices.Sorted(maps.Keys(p.output)) {
		r.say("%s", strings.TrimRight(p.output[test].String(), "\n"))
	}
}

// breakSilence prints what is running if nothing has been printed for a while.
func (r *report) breakSilence() {
	if r.now().Sub(r.printed) < silence {
		return
	}
	var doing []string
	for _, pkg := range slices.Sorted(maps.Keys(r.running)) {
		p := r.running[pkg]
		what := short(pkg)
		if n := len(p.tests); n > 0 {
			last := p.tests[n-1]
			what += fmt.Sprintf(" %s (%s)", last.test, r.since(last.began))
		} else {
			what += fmt.Sprintf(" (%s)", r.since(p.began))
		}
		doing = append(doing, what)
	}
	if len(doing) == 0 {
		doing = []string{"compiling"}
	}
	r.say("…     %d of %d packages after %s; %s", r.done, r.total, r.since(r.began), strings.Join(doing, "; "))
}

// end prints the slowest tests, the dearest packages, what was left out and why, and the sum.
func (r *report) end() {
	slices.SortFunc(r.tests, func(a, b timed) int { return cmp.Compare(b.took, a.took) })
	r.say("\nthe slowest tests:")
	for _, t := range r.tests[:min(r.slowest, len(r.tests))] {
		r.say("%8.1f s  %s %s", t.took.Seconds(), short(t.pkg), t.test)
	}
	slices.SortFunc(r.costs, func(a, b cost) int { return cmp.Compare(b.processor, a.processor) })
	if len(r.costs) > 0 {
		r.say("\nprocessor time of the dearest packages, with their servers and programs:")
	}
	for _, c := range r.costs[:min(r.slowest, len(r.costs))] {
		r.say("%8.1f s  %s", c.processor.Seconds(), short(c.pkg))
	}
	skips := 0
	for _, why := range slices.Sorted(maps.Keys(r.skipped)) {
		if skips == 0 {
			r.say("\nleft out:")
		}
		r.say("%8d    %s", r.skipped[why], why)
		skips += r.skipped[why]
	}
	if skips > 0 && !r.allowSkips {
		r.say("nothing may be left out here")
	}
	r.say("\n%d packages in %s", r.done, r.since(r.began))
	r.say("%d passed, %d failed, %d skipped%s", r.passed, max(r.failed, r.brokenPackages), skips, r.left())
}

// left tells of what was not drawn, which is no failure: other seeds draw it.
func (r *report) left() string {
	if r.undrawn == 0 {
		return ""
	}
	return fmt.Sprintf(", %d not drawn this time", r.undrawn)
}

func (r *report) say(format string, args ...any) {
	_, _ = fmt.Fprintf(r.out, format+"\n", args...) // the exit code tells the same
	r.printed = r.now()
}

func (r *report) since(t time.Time) time.Duration { return r.now().Sub(t).Round(time.Second) }

// notDrawn begins the reason of a test that package testservers leaves out because its seed did not draw it.
const notDrawn = "not drawn by TEST_SEED"

// where is what testing puts in front of what a test says.
var where = regexp.MustCompile(`^\s*\S+\.go:\d+: `)

// reason is the last that a test said before it was skipped.
func reason(output *strings.Builder) string {
	why := "it gave no reason"
	if output == nil {
		return why
	}
	for line := range strings.Lines(output.String()) {
		if where.MatchString(line) {
			why = strings.TrimSpace(where.ReplaceAllString(line, ""))
		}
	}
	return why
}

func short(pkg string) string { return strings.TrimPrefix(pkg, "example.com/seckill/") }
