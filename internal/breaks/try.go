package breaks

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// Verdict is what became of a break.
type Verdict string

// The verdicts. Only Caught is good.
const (
	Caught         Verdict = "caught"
	Missed         Verdict = "MISSED"
	DoesNotCompile Verdict = "does not compile" // and says nothing about the tests
	DoesNotApply   Verdict = "does not apply"
	RedAnyway      Verdict = "red when whole" // the tests fail without the break, too
	NoTests        Verdict = "nothing ran"
)

// Result is the verdict on one break by one of its catchers.
type Result struct {
	Break   Break
	Catcher Catcher
	Verdict Verdict
	// By is the first test that failed.
	By string
	// Output is what `go test` said, for a verdict that is not good.
	Output string
	Took   time.Duration
}

// Try lays the break over the source below root and asks each of its catchers.
// The error is for what kept it from trying.
func (b Break) Try(ctx context.Context, root string) ([]Result, error) {
	dir, err := os.MkdirTemp("", "seckill-break-")
	if err != nil {
		return nil, fmt.Errorf("breaks: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	overlay, err := b.overlay(root, dir)
	if errors.Is(err, ErrStale) {
		return []Result{{Break: b, Catcher: b.Catchers[0], Verdict: DoesNotApply, Output: err.Error()}}, nil
	}
	if err != nil {
		return nil, err
	}
	var all []Result
	for _, catcher := range b.Catchers {
		began := time.Now()
		run, err := test(ctx, root, catcher, "-overlay="+overlay)
		if err != nil {
			return all, err
		}
		r := Result{Break: b, Catcher: catcher, Verdict: run.verdict(), By: run.firstFailed, Took: time.Since(began)}
		if r.Verdict != Caught {
			r.Output = run.output.String()
		}
		all = append(all, r)
	}
	return all, nil
}

// Whole runs the catchers of all breaks on the source as it is. A test that is
// red without a break proves nothing; each package with such tests is answered.
func Whole(ctx context.Context, root string, all []Break) ([]Result, error) {
	patterns := map[string][]string{}
	var packages []string
	for _, b := range all {
		for _, c := range b.Catchers {
			if patterns[c.Package] == nil {
				packages = append(packages, c.Package)
			}
			patterns[c.Package] = append(patterns[c.Package], c.Run)
		}
	}
	var red []Result
	for _, in := range packages {
		catcher := Catcher{in, strings.Join(patterns[in], "|")}
		began := time.Now()
		run, err := test(ctx, root, catcher)
		if err != nil {
			return nil, err
		}
		if run.verdict() != Missed {
			red = append(red, Result{
				Catcher: catcher, Verdict: RedAnyway, By: run.firstFailed, Output: run.output.String(), Took: time.Since(began),
			})
		}
	}
	return red, nil
}
