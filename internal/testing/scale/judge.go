package scale

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"example.com/seckill/internal/testing/schedlatency"
)

// Limits are the bounds of a run. The zero value of a field is its default.
type Limits struct {
	// Call is how long one call of Redis may take; default 5 ms. The longest time by which the machine may
	// have delayed a thread of the highest priority is added.
	Call time.Duration
	// Growth is how many times as much a phase may cost with twice the buyers, to two digits; default 2.2. A
	// loading may grow as the reference does (reference.go).
	Growth float64
	// A phase that is quicker than Short does not count as growing: most of its time does not depend on the
	// size. Default a second.
	Short time.Duration
	// Memory is how much larger the program may be with twice the buyers, in addition to a fourth of its size
	// with half of them: garbage. Default 32 MiB.
	Memory int64
}

func (l Limits) withDefaults() Limits {
	l.Call = cmp.Or(l.Call, 5*time.Millisecond)
	l.Short = cmp.Or(l.Short, time.Second)
	l.Growth = cmp.Or(l.Growth, 2.2)
	l.Memory = cmp.Or(l.Memory, 32<<20)
	return l
}

// ErrBroken says that a bound was broken.
var ErrBroken = errors.New("a bound is broken")

// Broken lists the bounds that were broken, each with its phase.
func (r *Report) Broken() (all []string) {
	for _, s := range r.Sales {
		for _, row := range s.Rows {
			tell := func(format string, args ...any) {
				all = append(all, fmt.Sprintf("%s, %d buyers: ", row.Phase, s.Buyers)+fmt.Sprintf(format, args...))
			}
			for _, v := range row.Violated {
				tell("%s", strings.ReplaceAll(strings.TrimSpace(v), "\n", " | "))
			}
			switch {
			case r.Busy && row.Call.Median > r.Limits.Call:
				tell("every second call of a command keeps Redis busy for %s or more, above %s", row.Call.Median, r.Limits.Call)
			case !r.Busy && row.Call.Took > r.Limits.Call+row.delayed():
				tell("one call kept Redis busy for %s, above %s, and the machine delayed no thread by more than %s: %s",
					row.Call.Took, r.Limits.Call, short(row.delayed()), row.Call.What)
			}
		}
	}
	for _, p := range r.pairs() {
		if g, most := r.growth(p), r.mayGrow(p.whole.Phase); p.whole.Phase != referencePhase && rounded(g) > rounded(most) {
			all = append(all, fmt.Sprintf("%s: twice the buyers cost %.2f times as much, above %.2f: %s, and %s of processor time; %s",
				p.whole.Phase, g, most, short(p.whole.Took), short(p.whole.CPU), r.judgedBy(p)))
		}
		if is, most := p.whole.Memory.Program, p.half.Memory.Program*5/4+r.Limits.Memory; is > most {
			all = append(all, fmt.Sprintf("%s: the memory of the program grows with the sale: %s MiB for half of the buyers, %s for all",
				p.whole.Phase, mib(p.half.Memory.Program), mib(is)))
		}
	}
	return all
}

// Verdict is nil if every bound holds.
func (r *Report) Verdict() error {
	broken := r.Broken()
	if len(broken) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrBroken, strings.Join(broken, "; "))
}

// own returns the processor time of a phase without that of the other coupon's orders. A longer phase has more
// of them. Each counts as one order of the calm. If that was not played it is all processor time.
func (s Sale) own(row Row) time.Duration {
	for _, calm := range s.Rows {
		if calm.Phase == calmPhase && row.Phase != calmPhase && calm.Others.Orders > 0 {
			each := calm.CPU / time.Duration(calm.Others.Orders)
			return max(0, row.CPU-each*time.Duration(row.Others.Orders))
		}
	}
	return row.CPU
}

// whole is the larger of the sales, or the smaller one while there is no other.
func (r *Report) whole() Sale { return r.Sales[min(1, len(r.Sales)-1)] }

// halves are a phase with half of the buyers, as often as it was played before and after the whole,
// each with its own processor time.
func (r *Report) halves(phase string) (all []Row) {
	if len(r.Sales) < 2 {
		return nil
	}
	for _, s := range append(r.Sales[:1:1], r.Sales[2:]...) {
		for _, row := range s.Rows {
			if row.Phase == phase {
				row.CPU = s.own(row)
				all = append(all, row)
			}
		}
	}
	return all
}

// mean is what rows took in the mean, with the most memory of any.
func mean(rows []Row) Row {
	m := rows[0]
	for _, row := range rows[1:] {
		m.Foreign = max(m.Foreign, row.Foreign)
		m.Took, m.CPU = m.Took+row.Took, m.CPU+row.CPU
		m.Memory.Program = max(m.Memory.Program, row.Memory.Program)
	}
	n := time.Duration(len(rows))
	m.Took, m.CPU = m.Took/n, m.CPU/n
	return m
}

// pair is a phase of half and of all buyers, with its own processor time.
type pair struct{ half, whole Row }

func (r *Report) pairs() (all []pair) {
	if len(r.Sales) < 2 {
		return nil
	}
	for _, whole := range r.whole().Rows {
		if halves := r.halves(whole.Phase); len(halves) > 0 && whole.Items > 0 {
			whole.CPU = r.whole().own(whole)
			all = append(all, pair{mean(halves), whole})
		}
	}
	return all
}

// growth returns how much more the phase costs for twice the buyers. It is judged by the clock on the
// wall. Where other work had a share of the machine, it is judged by processor time. A phase that is
// shorter than Short counts as that long.
func (r *Report) growth(p pair) float64 {
	if r.Busy || p.foreign() > maxForeign {
		return over(p.whole.CPU, max(p.half.CPU, r.Limits.Short))
	}
	return over(p.whole.Took, max(p.half.Took, r.Limits.Short))
}

// delayed returns by how much the machine may have delayed a thread of the highest priority at most.
func (r Row) delayed() time.Duration {
	if r.SchedLatency == 0 {
		return 0
	}
	return r.SchedLatency + schedlatency.Nap
}

// rounded is a growth as the table shows it.
func rounded(g float64) float64 { return math.Round(100*g) / 100 }

func over(a, b time.Duration) float64 {
	if b == 0 {
		return 0
	}
	return a.Seconds() / b.Seconds()
}
