package rush

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestHowFarARunHasComeIsToldAtOnceAndAtItsEnd(t *testing.T) {
	var told []Standing
	r := &run{Options: Options{Users: 6, DoubleTapEvery: 3, Tell: func(s Standing) { told = append(told, s) }}, tally: newTally()}
	done := r.tellProgress()
	for range 5 {
		r.ask()
	}
	r.refuse("sold_out", time.Now())
	r.refuse("busy", time.Now())
	r.fail("timeout")
	done()
	done()
	require.GreaterOrEqual(t, len(told), 2)
	require.Equal(t, Standing{Taps: 8, Asked: 5, Refused: 2, Failed: 1}, told[len(told)-1])

	r.Tell = nil
	r.tellProgress()()
}
