package mutation

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// Verdict is the result of a mutant.
type Verdict string

// The verdicts. Only Killed is good.
const (
	Killed       Verdict = "killed"
	Survived     Verdict = "SURVIVED"
	NotCompiling Verdict = "not compiling"  // a mutant that does not compile shows nothing about the tests
	Stale        Verdict = "stale"          // the patch does not apply
	RedAnyway    Verdict = "red when whole" // the tests also fail without the mutant
	NoTests      Verdict = "nothing ran"
	NotTried     Verdict = "not tried" // go test itself failed
)

// settled reports whether another try would give the same verdict. The other verdicts depend on the machine, or
// a change of the files corrects them.
func (v Verdict) settled() bool { return v == Killed || v == Survived }

// Outcome is the verdict on one mutant by all its killers, in one or more tries.
type Outcome struct {
	Verdict Verdict `json:"verdict"`
	// Tries is how many times all killers ran. Killed is how many times all of them failed.
	Tries  int `json:"tries"`
	Killed int `json:"killed"`
	// By is the first test that failed, and Message is its first message. For a verdict that is not good, By is
	// the killer that did not kill.
	By      string        `json:"by"`
	Message string        `json:"message"`
	Took    time.Duration `json:"took"`

	// output is the output of `go test`, for a verdict that is not good.
	output string
}

// Try overlays the source below the root with this mutant and runs each of its killers, once per try. A mutant
// is killed if each killer fails in each try. The error is for a context that ended.
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

// try calls run for each killer, the given number of times.
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

// tryOnce runs the killers until one does not fail.
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
