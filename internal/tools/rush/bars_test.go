package rush

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// halfWay is a run in which six of ten requests have an outcome.
func halfWay(out *strings.Builder) *run {
	r := &run{Options: Options{Users: 10, ProgressOutput: out}, tally: newTally(), sale: sale{Stock: 9, Left: 8}}
	for range 7 {
		r.countTap()
	}
	for range 3 {
		r.countAccepted(&ack{}, time.Now(), 0)
	}
	r.countRefusal(codeLimitReached, arrival{since: time.Now()})
	r.countRefusal("overloaded", arrival{since: time.Now()})
	r.countFailure("timeout")
	return r
}

const twoBars = `  coupons  ████████████░░░░░░░░░░░░░░░░░░░░░░  5 left of 8
  people   ████████████████████░░░░░░░░░░░░░░  6 of 10 requests
`

func TestBars_Terminal_DrawsStockThenPeopleOverThemselves(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	draw, erase := halfWay(&out).drawBars()
	draw()
	require.Equal(t, strings.TrimSuffix(twoBars, "\n"), out.String())
	draw()
	erase()
	again := "\r" + lineUp + clearDown
	require.Equal(t, strings.TrimSuffix(twoBars, "\n")+again+strings.TrimSuffix(twoBars, "\n")+again, out.String())
}

func TestBars_NothingDrawn_ErasesNothing(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	_, erase := halfWay(&out).drawBars()
	erase()
	require.Empty(t, out.String())
}

func TestBars_LargestSale_FitsInTheWidth(t *testing.T) {
	t.Parallel()
	most := standing{units: 1_000_000, left: 1_000_000, requests: 1_333_333, orders: 1_333_333}
	for line := range strings.Lines(most.bars()) {
		require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), 78, line)
	}
}

func TestProgress_Pipe_PrintsPlainLines(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	halfWay(&out).printProgress()
	require.Equal(t, "3 sold of 8, 6 of 10 requests answered: 3 orders, 2 refused, 1 without an answer\n", out.String())
}

// A visitor of the page may have bought some of the units.
func TestBars_BuyerWasToldSoldOut_ShowNothingLeft(t *testing.T) {
	t.Parallel()
	r := halfWay(nil)
	r.countRefusal(codeSoldOut, arrival{since: time.Now()})
	require.Zero(t, r.standing().left)
	require.Contains(t, r.standing().bars(), "  sold out\n")
	r.cancelled = 1 // its unit is sold again
	require.Equal(t, 6, r.standing().left)
}
