package rush

import (
	"fmt"
	"slices"
	"time"
)

// Fairness is how near a run came to first come, first served. A tap that was told sold_out, or not drawn,
// although it came before one that got a unit was overtaken.
type Fairness struct {
	Overtaken int // refused taps that came before the last one that got a unit
	// Inversions is the part of all pairs of a tap that got a unit and one that was told sold_out in
	// which the latter came first: 0 is first come, first served, 0.5 a lottery.
	Inversions               float64
	ByP50Millis, ByMaxMillis float64 // how much later the last tap that got a unit came than an overtaken one
}

// arrivals are when taps came, since the start: by the schedule in an open loop.
type arrivals struct{ got, missed []time.Duration }

// fairness returns the figures of the taps. It sorts them.
func (a arrivals) fairness() (f Fairness) {
	if len(a.got) == 0 || len(a.missed) == 0 {
		return f
	}
	slices.Sort(a.got)
	slices.Sort(a.missed)
	last := a.got[len(a.got)-1]
	f.Overtaken, _ = slices.BinarySearch(a.missed, last)
	if f.Overtaken == 0 {
		return f
	}
	inversions, earlier := 0.0, 0
	for _, missed := range a.missed[:f.Overtaken] {
		for earlier < len(a.got) && a.got[earlier] <= missed {
			earlier++
		}
		inversions += float64(len(a.got) - earlier)
	}
	f.Inversions = inversions / float64(len(a.got)) / float64(len(a.missed))
	f.ByP50Millis = millis(last - a.missed[f.Overtaken/2])
	f.ByMaxMillis = millis(last - a.missed[0])
	return f
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// String returns the figures for people.
func (f Fairness) String() string {
	if f.Overtaken == 0 {
		return "none told sold_out came before one that got a unit"
	}
	return fmt.Sprintf("overtaken by %.1f ms p50, %.1f at most   %.4f of pairs inverted (0 in order, 0.5 a lottery)",
		f.ByP50Millis, f.ByMaxMillis, f.Inversions)
}
