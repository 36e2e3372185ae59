package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"example.com/seckill/internal/tools/servers"
)

// Options are the sizes of a run.
type Options struct {
	Root  string    // of the module, where the program is built; "" = here
	Quick bool      // one short round: to see that everything works, not how fast
	Only  []string  // measurements whose names contain one of these; none = all
	Log   io.Writer // what is being measured; nil = nowhere
	// Connections is how many buyers are served at once by the paths; 0 = 128. It holds for the process.
	Connections int
	// Profiles is the folder for a CPU profile of the program on each path, which makes the figures a
	// little dearer; "" = none.
	Profiles string
}

// full and brief are the lengths of the parts of a run.
var (
	full  = sizes{rounds: 3, coupons: []int{1, 8, 64}, taps: 24_000, buyers: []int{1000, 10_000, 100_000}, seconds: 4, overload: 1.5}
	brief = sizes{rounds: 1, coupons: []int{1, 8}, taps: 800, buyers: []int{200, 1000}, seconds: 0.4, overload: 0.1}
)

type sizes struct {
	rounds   int
	coupons  []int // on sale at once
	taps     int   // of the growth
	buyers   []int // users who have bought before
	seconds  float64
	overload float64 // seconds of arrivals
}

// bench is a run.
type bench struct {
	Options
	sizes

	env    *env
	report *Report
}

// Run measures every path that the options name and closes its servers. An error means that the run
// could not be finished; that an audit was not clean is in the report: see Report.Verdict.
func Run(ctx context.Context, o Options) (_ *Report, err error) {
	if err := servers.NeedLinux("the benchmark, which reads the cost of a process from /proc"); err != nil {
		return nil, err
	}
	if o.Connections < 0 {
		return nil, fmt.Errorf("connections: %d are fewer than none", o.Connections)
	}
	b := &bench{Options: o, sizes: full, report: &Report{}}
	if o.Quick {
		b.sizes = brief
	}
	if o.Connections > 0 {
		conns = o.Connections
	}
	if o.Root == "" {
		b.Root = "."
	}
	if b.Log == nil {
		b.Log = io.Discard
	}
	if b.env, err = openEnv(ctx, b.Root); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.env.Close()) }()
	b.report.Environment, b.report.Rounds, b.report.Quick = b.environment(ctx), b.rounds, b.Quick
	for _, part := range []func(context.Context) error{b.paths, b.designs, b.fleets, b.growth, b.offered} {
		if err := part(ctx); err != nil {
			return nil, err
		}
	}
	if b.report.Audits == 0 {
		return nil, fmt.Errorf("there is nothing called %q to measure", strings.Join(o.Only, `", "`))
	}
	return b.report, nil
}

func (b *bench) wanted(name string) bool {
	for _, word := range b.Only {
		if strings.Contains(name, word) {
			return true
		}
	}
	return len(b.Only) == 0
}

// paths measures every path, round after round.
func (b *bench) paths(ctx context.Context) error {
	var there []path
	for _, p := range paths {
		if !b.wanted(p.name) {
			continue
		}
		absent, err := b.env.refuses(ctx, p.env)
		switch {
		case err != nil:
			return err
		case absent:
			b.report.Absent = append(b.report.Absent, p.name)
		default:
			there = append(there, p)
		}
	}
	rounds := make(map[string][]figures, len(there))
	for round := range b.rounds {
		err := playRound(there, rounds, func(p path) (figures, error) {
			return b.measured(ctx, p.name, round, func() (taken, error) {
				return b.env.measure(ctx, p, b.tapsOf(p), b.profileFile(p.name, round))
			})
		})
		if err != nil {
			return err
		}
	}
	for _, p := range there {
		for round := range rounds[p.name] {
			f := &rounds[p.name][round]
			f[ofSingle] = ratio(rate, *f, rounds[single], round)
		}
		b.report.Paths = append(b.report.Paths, Row{Name: p.name, Note: p.what, figures: medians(rounds[p.name])})
	}
	return nil
}

// tapsOf returns the taps of a round of a path.
func (b *bench) tapsOf(p path) int {
	if b.Quick {
		return p.quick
	}
	return p.taps
}

// playRound measures each path once and adds the results to the rounds before. The bare route, which is the
// first if it is wanted, is measured again after each other one that was not taken in turn with it.
func playRound(there []path, rounds map[string][]figures, measure func(path) (figures, error)) error {
	var before figures // the bare route
	for _, p := range there {
		f, err := measure(p)
		if err != nil {
			return err
		}
		if p.sale == bareRoute {
			f.compare(f, f)
			before = f
		} else if first := there[0]; first.sale == bareRoute && !p.inTurn() {
			after, err := measure(first)
			if err != nil {
				return err
			}
			f.compare(before, after)
			after.compare(after, after)
			rounds[bare] = append(rounds[bare], after)
			before = after
		}
		rounds[p.name] = append(rounds[p.name], f)
	}
	return nil
}

// compare sets the ratios to the bare route just before and just after. The minutes of a machine differ by more than
// the paths do.
func (f *figures) compare(before, after figures) {
	f[ofBare] = over(f[rate], (before[rate]+after[rate])/2)
	f[costOfBare] = over(f[cpuAll], (before[cpuAll]+after[cpuAll])/2)
}

// ratio compares a figure with that of another path in the same round; 0 if that was not measured.
func ratio(of metric, f figures, with []figures, round int) float64 {
	if round >= len(with) {
		return 0
	}
	return over(f[of], with[round][of])
}

// inRounds measures each path with one of these names once in every round, so that other load on the machine meets
// every path, and returns the medians.
func (b *bench) inRounds(ctx context.Context, names []string, measure func(i int) (taken, error)) ([]figures, error) {
	rounds := make([][]figures, len(names))
	for round := range b.rounds {
		for i, name := range names {
			f, err := b.measured(ctx, name, round, func() (taken, error) { return measure(i) })
			if err != nil {
				return nil, err
			}
			rounds[i] = append(rounds[i], f)
		}
	}
	all := make([]figures, len(names))
	for i := range all {
		all[i] = medians(rounds[i])
	}
	return all, nil
}

// measured takes one measurement, logs it, and keeps the violations of its audits.
func (b *bench) measured(ctx context.Context, name string, round int, measure func() (taken, error)) (figures, error) {
	if err := ctx.Err(); err != nil {
		return figures{}, err
	}
	if _, err := b.env.latency.Longest(ctx); err != nil { // before the round
		return figures{}, err
	}
	t, err := measure()
	if err != nil {
		return figures{}, fmt.Errorf("%s: %w", name, err)
	}
	late, err := b.env.latency.Longest(ctx)
	if err != nil {
		return figures{}, err
	}
	t.figures[schedLatency] = late.Seconds() * 1000
	b.report.Audits++
	for _, v := range t.violations {
		b.report.Violations = append(b.report.Violations, fmt.Sprintf("%s, round %d: %s", name, round+1, v))
	}
	f := t.figures
	_, _ = fmt.Fprintf(b.Log, "round %d of %d: %s: %.0f/s, p99 %.1f ms\n", round+1, b.rounds, name, f[rate], f[p99])
	return f, nil
}

// ordering returns the path on which growth and load are measured: the first that sells and that
// this build has.
func (b *bench) ordering(ctx context.Context) (path, error) {
	for _, name := range []string{batch, single} {
		p := pathCalled(name)
		absent, err := b.env.refuses(ctx, p.env)
		if err != nil || !absent {
			return p, err
		}
	}
	return path{}, errors.New("this build refuses both ways to commit")
}
