package mutation

import (
	"context"
	"slices"
	"strings"
	"sync"
)

// whole finds the mutants whose killers are red without them: such a test proves
// nothing. All killers of a package are run at once; only if one is red is each mutant's
// killer asked alone.
type whole struct {
	t        *together
	mu       sync.Mutex
	patterns map[string][]string // of each package
	green    map[string]bool     // packages, and killers asked alone
}

func newWhole(t *together, all []Mutant) *whole {
	w := &whole{t: t, patterns: map[string][]string{}, green: map[string]bool{}}
	for _, m := range all {
		for _, k := range m.Killers {
			if !slices.Contains(w.patterns[k.Package], k.Run) {
				w.patterns[k.Package] = append(w.patterns[k.Package], k.Run)
			}
		}
	}
	return w
}

// red returns the outcome of a mutant whose killers are red anyway, and reports whether
// they are.
func (w *whole) red(ctx context.Context, m Mutant) (Outcome, bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, k := range m.Killers {
		together := Killer{k.Package, strings.Join(w.patterns[k.Package], "|")}
		_, green, err := w.ask(ctx, together)
		if err != nil {
			return Outcome{}, false, err
		}
		if green {
			continue
		}
		if outcome, green, err := w.ask(ctx, k); err != nil || !green {
			return outcome, !green, err
		}
	}
	return Outcome{}, false, nil
}

func (w *whole) ask(ctx context.Context, k Killer) (Outcome, bool, error) {
	if green, known := w.green[k.String()]; green || known && len(w.patterns[k.Package]) > 1 {
		return Outcome{}, green, nil
	}
	run, err := w.t.test(ctx, k, w.t.o.Race, nil)
	if ctx.Err() != nil {
		return Outcome{}, false, err
	}
	if err != nil {
		return Outcome{Verdict: NotTried, By: k.String(), Message: firstLine(err.Error()), output: err.Error()}, false, nil
	}
	green := run.verdict() == Survived || run.verdict() == NoTests // which is told when it is tried
	w.green[k.String()] = green
	return Outcome{
		Verdict: RedAnyway, By: run.firstFailed, Message: message(run.said.String()), output: run.output.String(),
	}, green, nil
}
