package rush

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestProgress_RunEnds_ReportsFinalCounts(t *testing.T) {
	var told []Progress
	r := &run{Options: Options{Users: 6, DoubleTapEvery: 3, OnProgress: func(s Progress) { told = append(told, s) }}, tally: newTally()}
	done := r.reportProgress()
	for range 5 {
		r.countTap()
	}
	r.countRefusal("sold_out", arrival{since: time.Now()})
	r.countRefusal("request_in_progress", arrival{since: time.Now()})
	r.countFailure("timeout")
	done()
	done()
	require.GreaterOrEqual(t, len(told), 2)
	require.Equal(t, Progress{Taps: 8, Asked: 5, Refused: 2, Failed: 1}, told[len(told)-1])

	r.OnProgress = nil
	r.reportProgress()()
}
