package rush

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFairness_OvertakenTaps_AreCounted(t *testing.T) {
	ms := func(all ...int) (at []time.Duration) {
		for _, one := range all {
			at = append(at, time.Duration(one)*time.Millisecond)
		}
		return at
	}
	refused := func(all []time.Duration) (of []missed) {
		for n, at := range all {
			of = append(of, missed{at, atOnce, n % 2})
		}
		return of
	}
	for name, tc := range map[string]struct {
		got, missed []time.Duration
		want        Fairness
	}{
		"in order":           {ms(1, 2, 3), ms(4, 5), Fairness{}},
		"at the same moment": {ms(1, 2, 3), ms(3, 5), Fairness{}},
		"none missed":        {ms(1, 2, 3), nil, Fairness{}},
		"none got":           {nil, ms(1), Fairness{}},
		"the wrong way round": {ms(8, 9), ms(2, 1), Fairness{
			Overtaken: 2, Inversions: 1, ByP50Millis: 7, ByMaxMillis: 8, ByShard: []float64{1, 1}, ByPath: map[string]float64{atOnce: 1},
		}},
		"one": {ms(1, 2, 3, 10), ms(4, 11, 12, 13), Fairness{
			Overtaken: 1, Inversions: 1.0 / 16, ByP50Millis: 6, ByMaxMillis: 6, ByShard: []float64{1.0 / 8, 0}, ByPath: map[string]float64{atOnce: 1.0 / 16},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, arrivals{tc.got, refused(tc.missed)}.fairness(2))
		})
	}
	var drawn arrivals
	for at := range 10_000 {
		if rand.IntN(10) == 0 {
			drawn.got = append(drawn.got, time.Duration(at)*time.Millisecond)
		} else {
			drawn.missed = append(drawn.missed, missed{at: time.Duration(at) * time.Millisecond})
		}
	}
	require.InDelta(t, 0.5, drawn.fairness(0).Inversions, 0.05, "a lottery")
}

func TestFairness_Order_FollowsTapTimesNotAnswers(t *testing.T) {
	c := newTally()
	c.began = time.Now().Add(-time.Hour)
	at := func(s int) time.Time { return c.began.Add(time.Duration(s) * time.Second) }
	c.countRefusal("sold_out", arrival{since: at(1), path: atOnce})
	c.countRefusal("limit_reached", arrival{since: at(1), path: atOnce})
	c.countAccepted(&ack{}, at(2), 0)
	c.countRefusal("sold_out", arrival{since: at(3), path: again})
	c.countRefusal("sold_out", arrival{since: at(3), path: atOnce})
	require.Equal(t, Fairness{
		Overtaken: 1, Inversions: 1.0 / 3, ByP50Millis: 1000, ByMaxMillis: 1000, ByPath: map[string]float64{atOnce: 0.5, again: 0},
	}, c.arrived.fairness(0))
}
