package chaos

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSpan_Requests_ReportsTheirOutcomes(t *testing.T) {
	r, w := newRecord(), purchase{}
	for n := range 200 {
		r.took(&w, time.Duration(n+1)*time.Millisecond, true)
	}
	r.repeat()
	r.took(&w, time.Hour, false) // of a request that was sent again
	r.repeat()
	s := r.turn()
	require.Len(t, s.took, 200)
	require.InDelta(t, 99, s.served(), 1e-9)
	require.Equal(t, 198*time.Millisecond, s.p99())
	require.Equal(t, time.Hour, r.slowest)
	require.Equal(t, 2, r.repeats)
	require.True(t, w.late, "an answer took as long as a commit may")

	next := r.turn()
	require.Empty(t, next.took, "a span begins with nothing")
	require.InDelta(t, 100, next.served(), 1e-9)
	require.Zero(t, next.p99())
}

func TestReport_Flood_ShowsWhatBuyersGot(t *testing.T) {
	var out strings.Builder
	b := Beside{Attackers: 300, Reached: 900, Taps: 1000, Served: 99.5, Calm: 20 * time.Millisecond, P99: 30 * time.Millisecond, Memory: 77 << 20}
	require.NoError(t, summarize([]Result{{Cell: "flood:streams", Beside: &b}, {Cell: "nothing"}}).WriteText(&out))
	require.Regexp(t, `300 +900 +1000 +99\.5 +30 +20 +0 +77 +flood:streams`, out.String())
	require.Equal(t, 1, strings.Count(out.String(), "served at once"))
	out.Reset()
	require.NoError(t, summarize([]Result{{Cell: "nothing"}}).WriteText(&out))
	require.NotContains(t, out.String(), "served at once")
}
