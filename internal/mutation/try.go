package mutation

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// Verdict is what became of a mutant.
type Verdict string

// The verdicts. Only Killed is good.
const (
	Killed       Verdict = "killed"
	Survived     Verdict = "SURVIVED"
	NotCompiling Verdict = "not compiling"  // and says nothing about the tests
	Stale        Verdict = "stale"          // the patch does not apply
	RedAnyway    Verdict = "red when whole" // the tests fail without the break, too
	NoTests      Verdict = "nothing ran"
)

// Result is the verdict on one mutant by one of its killers.
type Result struct {
	Mutant  Mutant
	Killer  Killer
	Verdict Verdict
	// By is the first test that failed.
	By string
	// Output is what `go test` said, for a verdict that is not good.
	Output string
	Took   time.Duration
}

// Try lays the mutant over the source below root and runs each of its killers.
// The error is for what kept it from trying.
func (m Mutant) Try(ctx context.Context, root string) ([]Result, error) {
	dir, err := os.MkdirTemp("", "seckill-mutant-")
	if err != nil {
		return nil, fmt.Errorf("mutation: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	overlay, err := m.overlay(root, dir)
	if errors.Is(err, ErrStale) {
		return []Result{{Mutant: m, Killer: m.Killers[0], Verdict: Stale, Output: err.Error()}}, nil
	}
	if err != nil {
		return nil, err
	}
	var all []Result
	for _, killer := range m.Killers {
		began := time.Now()
		run, err := test(ctx, root, killer, "-overlay="+overlay)
		if err != nil {
			return all, err
		}
		r := Result{Mutant: m, Killer: killer, Verdict: run.verdict(), By: run.firstFailed, Took: time.Since(began)}
		if r.Verdict != Killed {
			r.Output = run.output.String()
		}
		all = append(all, r)
	}
	return all, nil
}

// Whole runs the killers of all mutants on the source as it is. A test that is
// red without a mutant proves nothing; each package with such tests is returned.
func Whole(ctx context.Context, root string, all []Mutant) ([]Result, error) {
	patterns := map[string][]string{}
	var packages []string
	for _, m := range all {
		for _, c := range m.Killers {
			if patterns[c.Package] == nil {
				packages = append(packages, c.Package)
			}
			patterns[c.Package] = append(patterns[c.Package], c.Run)
		}
	}
	var red []Result
	for _, in := range packages {
		killer := Killer{in, strings.Join(patterns[in], "|")}
		began := time.Now()
		run, err := test(ctx, root, killer)
		if err != nil {
			return nil, err
		}
		if run.verdict() != Survived {
			red = append(red, Result{
				Killer: killer, Verdict: RedAnyway, By: run.firstFailed, Output: run.output.String(), Took: time.Since(began),
			})
		}
	}
	return red, nil
}
