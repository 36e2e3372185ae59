package rush

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestOvertakenTapsAreCounted(t *testing.T) {
	ms := func(all ...int) (at []time.Duration) {
		for _, one := range all {
			at = append(at, time.Duration(one)*time.Millisecond)
		}
		return at
	}
	for name, tc := range map[string]struct {
		got, missed []time.Duration
		want        Fairness
	}{
		"in order":            {ms(1, 2, 3), ms(4, 5), Fairness{}},
		"at the same moment":  {ms(1, 2, 3), ms(3, 5), Fairness{}},
		"none missed":         {ms(1, 2, 3), nil, Fairness{}},
		"none got":            {nil, ms(1), Fairness{}},
		"the wrong way round": {ms(8, 9), ms(2, 1), Fairness{Overtaken: 2, Inversions: 1, ByP50Millis: 7, ByMaxMillis: 8}},
		"one":                 {ms(1, 2, 3, 10), ms(4, 11, 12, 13), Fairness{Overtaken: 1, Inversions: 1.0 / 16, ByP50Millis: 6, ByMaxMillis: 6}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, arrivals{tc.got, tc.missed}.fairness())
		})
	}
	var drawn arrivals
	for at := range 10_000 {
		if rand.IntN(10) == 0 {
			drawn.got = append(drawn.got, time.Duration(at)*time.Millisecond)
		} else {
			drawn.missed = append(drawn.missed, time.Duration(at)*time.Millisecond)
		}
	}
	require.InDelta(t, 0.5, drawn.fairness().Inversions, 0.05, "a lottery")
}

func TestFairnessIsOfWhenTapsCameAndNotOfTheirAnswers(t *testing.T) {
	c := newTally()
	c.began = time.Now().Add(-time.Hour)
	at := func(s int) time.Time { return c.began.Add(time.Duration(s) * time.Second) }
	c.countRefusal("sold_out", at(1))
	c.countRefusal("limit_reached", at(1))
	c.countAccepted(&ack{}, at(2), 0)
	c.countRefusal("sold_out", at(3))
	require.Equal(t, Fairness{Overtaken: 1, Inversions: 0.5, ByP50Millis: 1000, ByMaxMillis: 1000}, c.arrived.fairness())
}
