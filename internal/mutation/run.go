package mutation

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"
)

// Options are the settings of a run.
type Options struct {
	Root string    // of the module
	Out  io.Writer // a line for each mutant as it goes
	// Results is the file that keeps the outcomes, so that the next run goes on where
	// this one ends. Empty: nothing is kept.
	Results string
	// Fresh takes again what the results know already.
	Fresh bool
	// Tries is how often each mutant is tried, at least; one may ask for more.
	Tries int
	// Budget is the time after which no mutant is begun. 0: no end.
	Budget time.Duration
	// Race tries with the race detector, as `make test` does.
	Race bool
	// Under is a command that go test is run by, such as nice.
	Under []string
}

func (o Options) triesOf(m Mutant) int { return max(1, o.Tries, m.Tries) }

// Run tries the mutants that the results do not know, prints a line for each, and
// reports whether every one is killed, now or earlier. Mutants that the budget leaves
// over count as not killed.
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
	whole := newWhole(o, all)
	for i, m := range all {
		one, known, err := kept.of(m, o)
		switch {
		case err != nil:
			return 0, 0, err
		case known && !o.Fresh:
		case o.Budget > 0 && time.Since(began) > o.Budget:
			left++
			continue
		default:
			if one, err = o.take(ctx, whole, m); err != nil {
				return 0, 0, err
			}
			if err := kept.keep(one); err != nil {
				return 0, 0, err
			}
			one.print(o.Out, i+1, len(all), m)
		}
		if one.Verdict == Killed {
			killed++
		}
	}
	return killed, left, nil
}

// take tries one mutant. Its hash is of before: what changes meanwhile is tried again.
func (o Options) take(ctx context.Context, whole *whole, m Mutant) (Result, error) {
	hash, err := m.hash(o.Root)
	if err != nil {
		return Result{}, err
	}
	outcome, red, err := whole.red(ctx, m)
	if err == nil && !red {
		outcome, err = m.Try(ctx, o)
	}
	return Result{Name: m.Name(), Hash: hash, Outcome: outcome}, err
}

func (r Result) print(out io.Writer, i, n int, m Mutant) {
	_, _ = fmt.Fprintf(out, "%3d/%d  %-14s %2d of %2d %6.1f s  %-52s %s\n",
		i, n, r.Verdict, r.Killed, r.Tries, r.Took.Seconds(), r.Name, r.By)
	if r.Verdict != Killed {
		_, _ = fmt.Fprintf(out, "  %s\n%s\n", m.Mutation, indent(r.output))
	}
}

// Room is the package whose mutant it is, below internal: "lock/locktest".
func (m Mutant) Room() string {
	room := filepath.ToSlash(filepath.Dir(filepath.Dir(filepath.Dir(m.Path))))
	if _, below, ok := strings.Cut("/"+room, "/internal/"); ok {
		return below
	}
	return filepath.Base(room)
}

// Name is the room and the patch's name without its ending.
func (m Mutant) Name() string {
	return m.Room() + "/" + strings.TrimSuffix(filepath.Base(m.Path), ".patch")
}

// indent sets the last lines of what a run said apart.
func indent(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	return "    " + strings.Join(lines[max(0, len(lines)-12):], "\n    ")
}
