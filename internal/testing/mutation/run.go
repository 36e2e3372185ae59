package mutation

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// Options are the settings of a run.
type Options struct {
	Root string    // of the module
	Out  io.Writer // a line for each mutant as it goes
	// Results is the file that keeps the outcomes, so that the next run continues after this run. Empty: the
	// run keeps nothing.
	Results string
	// Fresh tries again the mutants that already have a result.
	Fresh bool
	// Tries is the minimum number of tries of each mutant. A mutant may request more.
	Tries int
	// Budget is the time after which no mutant starts. 0 is no limit.
	Budget time.Duration
	// Parallel is how many mutants run at once.
	Parallel int
	// Race runs all mutants with the race detector. A mutant may also request it for itself.
	Race bool
	// Under is a command that runs go test, such as nice.
	Under []string
}

func (o Options) triesOf(m Mutant) int { return max(1, o.Tries, m.Tries) }

func (o Options) over(began time.Time) bool { return o.Budget > 0 && time.Since(began) > o.Budget }

func (o Options) raceOf(m Mutant) bool { return o.Race || m.Race }

// Run tries the mutants without a result, prints a line for each, and reports whether every mutant is killed,
// in this run or an earlier one. Mutants that the budget leaves over count as not killed.
func Run(ctx context.Context, o Options, all []Mutant) (bool, error) {
	kept, err := loadResults(o.Results)
	if err != nil {
		return false, err
	}
	killed, left, err := o.run(ctx, kept, all)
	if err != nil {
		return false, err
	}
	_, _ = fmt.Fprintf(o.Out, "%d mutants, %d killed, %d not killed, %d left over\n",
		len(all), killed, len(all)-killed-left, left)
	return killed == len(all), nil
}

func (o Options) run(ctx context.Context, kept *results, all []Mutant) (killed, left int, err error) {
	began := time.Now()
	var due []job
	for i, m := range all {
		one, known, err := kept.of(m, o)
		if err != nil {
			return 0, 0, err
		}
		switch {
		case !known || o.Fresh:
			hash, err := m.hash(o.Root)
			if err != nil {
				return 0, 0, err
			}
			due = append(due, job{m, hash, i + 1})
		case one.Verdict == Killed:
			killed++
		}
	}
	if len(due) == 0 || o.over(began) {
		return killed, len(due), nil
	}
	more, left, err := o.takeAll(ctx, kept, due, len(all), began)
	return killed + more, left, err
}

// job is a mutant to try. Its hash is from before the run, so that the next run tries a mutant again if its
// files change during this run.
type job struct {
	Mutant
	hash string
	n    int
}

// takeAll tries the due mutants, Options.Parallel of them at once.
func (o Options) takeAll(ctx context.Context, kept *results, due []job, of int, began time.Time) (killed, left int, err error) {
	mutants := make([]Mutant, len(due))
	for i, j := range due {
		mutants[i] = j.Mutant
	}
	together, err := newTogether(ctx, o, mutants)
	if together != nil {
		defer together.close()
	}
	if err != nil {
		return 0, 0, err
	}
	whole := newWhole(together, mutants)
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(1, o.Parallel))
	for _, j := range due {
		group.Go(func() error {
			if o.over(began) {
				mu.Lock()
				defer mu.Unlock()
				left++
				return nil
			}
			outcome, err := o.take(ctx, together, whole, j.Mutant)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			one := Result{Name: j.Name(), Hash: j.hash, Outcome: outcome}
			one.print(o.Out, j.n, of, j.Mutant)
			if one.Verdict == Killed {
				killed++
			}
			return kept.keep(one)
		})
	}
	err = group.Wait()
	return killed, left, err //nolint:wrapcheck // all are of this package
}

// take tries one mutant in a build with all others. If the tests do not detect it there, take tries it again by
// itself and with the race detector.
func (o Options) take(ctx context.Context, together *together, whole *whole, m Mutant) (Outcome, error) {
	if outcome, red, err := whole.red(ctx, m); err != nil || red {
		return outcome, err
	}
	if together.holds[m.Name()] {
		outcome, err := m.try(ctx, o.triesOf(m), func(k Killer) (*testRun, error) {
			return together.test(ctx, k, o.raceOf(m), &m)
		})
		if err != nil || outcome.Killed > 0 {
			return outcome, err
		}
		o.Race = true
	}
	return m.Try(ctx, o)
}

func (r Result) print(out io.Writer, i, n int, m Mutant) {
	_, _ = fmt.Fprintf(out, "%3d/%d  %-14s %2d of %2d %6.1f s  %-52s %s\n",
		i, n, r.Verdict, r.Killed, r.Tries, r.Took.Seconds(), r.Name, r.By)
	if r.Verdict != Killed {
		_, _ = fmt.Fprintf(out, "  %s\n%s\n", m.Mutation, indent(r.output))
	}
}

// Package returns the package of the mutant, below internal: "lock/locktest".
func (m Mutant) Package() string {
	pkg := filepath.ToSlash(m.suite())
	if _, below, ok := strings.Cut("/"+pkg, "/internal/"); ok {
		return below
	}
	return filepath.Base(pkg)
}

// suite returns the folder of the suite that has the patch.
func (m Mutant) suite() string { return filepath.Dir(filepath.Dir(filepath.Dir(m.Path))) }

// Name returns the pkg and the name of the patch without its extension.
func (m Mutant) Name() string {
	return m.Package() + "/" + strings.TrimSuffix(filepath.Base(m.Path), ".patch")
}

// indent returns the last lines of the output of a run, indented.
func indent(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	return "    " + strings.Join(lines[max(0, len(lines)-12):], "\n    ")
}
