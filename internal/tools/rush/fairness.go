package rush

import (
	"slices"
	"time"
)

// Fairness measures how near a run came to first come, first served. A tap was overtaken if its answer was
// sold_out, or not drawn, although it came before a tap that got a unit.
type Fairness struct {
	Overtaken int // rejected taps that came before the last tap that got a unit
	// Inversions is a part of all pairs of a tap that got a unit and a rejected tap: the pairs in which the
	// rejected tap came first. It is 0 for first come, first served, and 0.5 for a lottery.
	Inversions               float64
	ByP50Millis, ByMaxMillis float64 // from an overtaken tap to the last tap that got a unit

	// ByShard is Inversions for the rejected taps of each home shard. ByPath is Inversions for the rejected
	// taps of each path. If a shard or a path is served worse than others, its value is higher. ByShard is
	// nil if the shards are not known.
	ByShard []float64
	ByPath  map[string]float64
}

// The paths of a tap.
const (
	atOnce = "at once"    // its first request got a final answer
	again  = "sent again" // as after "overloaded"
	waited = "queued"     // or it had a ticket
)

// arrival is a tap as Fairness needs it.
type arrival struct {
	since time.Time // when it came: by the schedule in an open loop
	path  string
	shard int // the buyer's home
}

// arrivals are the times at which taps came, since the start.
type arrivals struct {
	got    []time.Duration
	missed []missed
}

type missed struct {
	at    time.Duration
	path  string
	shard int
}

// fairness returns the figures of the taps. The argument is the number of shards; 0 is unknown. The call
// sorts the taps.
func (a arrivals) fairness(shards int) (f Fairness) {
	if len(a.got) == 0 || len(a.missed) == 0 {
		return f
	}
	slices.Sort(a.got)
	slices.SortFunc(a.missed, func(x, y missed) int { return int(x.at - y.at) })
	last := a.got[len(a.got)-1]
	f.Overtaken, _ = slices.BinarySearchFunc(a.missed, last, func(m missed, at time.Duration) int { return int(m.at - at) })
	if f.Overtaken == 0 {
		return f
	}
	all := newInversions(len(a.got))
	byShard, byPath := make([]inversions, shards), map[string]inversions{}
	for i := range byShard {
		byShard[i] = all
	}
	earlier := 0
	for _, m := range a.missed {
		for earlier < len(a.got) && a.got[earlier] <= m.at {
			earlier++
		}
		later := len(a.got) - earlier
		all.add(later)
		of, known := byPath[m.path]
		if !known {
			of = newInversions(len(a.got))
		}
		of.add(later)
		byPath[m.path] = of
		if m.shard < shards {
			byShard[m.shard].add(later)
		}
	}
	f.Inversions, f.ByPath = all.part(), map[string]float64{}
	for path, of := range byPath {
		f.ByPath[path] = of.part()
	}
	for _, of := range byShard {
		f.ByShard = append(f.ByShard, of.part())
	}
	f.ByP50Millis = millis(last - a.missed[f.Overtaken/2].at)
	f.ByMaxMillis = millis(last - a.missed[0].at)
	return f
}

// inversions counts the pairs of some rejected taps with all taps that got a unit.
type inversions struct{ got, missed, inverted float64 }

func newInversions(got int) inversions { return inversions{got: float64(got)} }

// add counts a rejected tap. The argument is the number of later taps that got a unit.
func (i *inversions) add(later int) {
	i.missed++
	i.inverted += float64(later)
}

// part returns the part of the pairs that are inverted.
func (i *inversions) part() float64 {
	if i.missed == 0 {
		return 0
	}
	return i.inverted / i.got / i.missed
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// InOrder returns the part of the pairs in which the request that came first got the unit. It is 1 for first come,
// first served, and 0.5 for a raffle.
func (f Fairness) InOrder() float64 { return 1 - f.Inversions }
