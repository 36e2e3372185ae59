package mutation

import (
	"context"
	"errors"
	"fmt"
	"os"
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
	RedAnyway    Verdict = "red when whole" // the tests fail without the mutant, too
	NoTests      Verdict = "nothing ran"
	NotTried     Verdict = "not tried" // go test itself failed
)

// settled reports whether trying again would tell the same: the others depend on the
// machine, or are mended by a change.
func (v Verdict) settled() bool { return v == Killed || v == Survived }

// Outcome is the verdict on one mutant by all its killers, in one or more tries.
type Outcome struct {
	Verdict Verdict `json:"verdict"`
	// Tries is how often all killers were run, Killed how often all of them were red.
	Tries  int `json:"tries"`
	Killed int `json:"killed"`
	// By is the first test that failed, and Message the first thing that it said. For a
	// verdict that is not good, By is the killer that did not kill.
	By      string        `json:"by"`
	Message string        `json:"message"`
	Took    time.Duration `json:"took"`

	// output is what `go test` said, for a verdict that is not good.
	output string
}

// Try lays the mutant alone over the source below the root and runs each of its killers,
// as often as the tries ask for. A mutant is killed if each killer is red in each try.
// The error is for a context that ended.
func (m Mutant) Try(ctx context.Context, o Options) (Outcome, error) {
	dir, err := os.MkdirTemp("", "seckill-mutant-")
	if err != nil {
		return Outcome{}, fmt.Errorf("mutation: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	overlay, err := m.overlay(o.Root, dir)
	if errors.Is(err, ErrStale) {
		return Outcome{Verdict: Stale, Message: err.Error()}, nil
	}
	if err != nil {
		return Outcome{}, err
	}
	return m.try(ctx, o.triesOf(m), func(k Killer) (*testRun, error) { return o.test(ctx, k, o.raceOf(m), overlay) })
}

// try runs the killers, each by run, as often as is asked for.
func (m Mutant) try(ctx context.Context, tries int, run func(Killer) (*testRun, error)) (Outcome, error) {
	began := time.Now()
	all := Outcome{Verdict: Killed, Tries: tries}
	for range tries {
		one, err := m.tryOnce(ctx, run)
		if err != nil {
			return Outcome{}, err
		}
		if one.Verdict == Killed {
			all.Killed++
		}
		if all.By == "" || one.Verdict != Killed && all.Verdict == Killed {
			all.Verdict, all.By, all.Message, all.output = one.Verdict, one.By, one.Message, one.output
		}
		if !one.Verdict.settled() {
			break
		}
	}
	all.Took = time.Since(began)
	return all, nil
}

// tryOnce runs the killers until one is not red.
func (m Mutant) tryOnce(ctx context.Context, test func(Killer) (*testRun, error)) (first Outcome, err error) {
	for i, killer := range m.Killers {
		run, err := test(killer)
		if ctx.Err() != nil {
			return first, ctx.Err()
		}
		if err != nil {
			return Outcome{Verdict: NotTried, By: killer.String(), Message: firstLine(err.Error()), output: err.Error()}, nil
		}
		if v := run.verdict(); v != Killed {
			return Outcome{Verdict: v, By: killer.String(), output: run.output.String()}, nil
		}
		if i == 0 {
			first = Outcome{Verdict: Killed, By: run.firstFailed, Message: message(run.said.String())}
		}
	}
	return first, nil
}
