package scale

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestJudge_BoundBroken_NamesItsPhase(t *testing.T) {
	const mib = 1 << 20
	for name, tc := range map[string]struct {
		half, whole Row
		busy        bool
		says        string // "": all bounds hold
	}{
		"all is well":                     {half: Row{Took: 2 * time.Second}, whole: Row{Took: 4400 * time.Millisecond, Call: Call{Took: 5 * time.Millisecond}}},
		"a call of Redis":                 {whole: Row{Call: Call{Took: 6 * time.Millisecond, What: "script holds"}}, says: "restore, 2 buyers: one call kept Redis busy for 6ms, above 5ms, and the machine delayed no thread by more than 0s: script holds"},
		"a call that the machine held up": {whole: Row{SchedLatency: 4 * time.Millisecond, Call: Call{Took: 14 * time.Millisecond}}},
		"a call longer than that": {
			whole: Row{SchedLatency: 4 * time.Millisecond, Call: Call{Took: 15 * time.Millisecond, What: "script holds"}},
			says:  "restore, 2 buyers: one call kept Redis busy for 15ms, above 5ms, and the machine delayed no thread by more than 9ms: script holds",
		},
		"growth to two digits": {half: Row{Took: 2 * time.Second}, whole: Row{Took: 4409 * time.Millisecond}},
		"growth above them":    {half: Row{Took: 2 * time.Second}, whole: Row{Took: 4420 * time.Millisecond}, says: "restore: twice the buyers cost 2.21 times as much, above 2.20"},
		"growth":               {half: Row{Took: 2 * time.Second}, whole: Row{Took: 5 * time.Second}, says: "restore: twice the buyers cost 2.50 times as much, above 2.20"},
		"a short phase":        {half: Row{Took: 10 * time.Millisecond}, whole: Row{Took: 2 * time.Second}},
		"a short phase grown":  {half: Row{Took: 10 * time.Millisecond}, whole: Row{Took: 3 * time.Second}, says: "restore: twice the buyers cost 3.00 times as much"},
		"other work":           {half: Row{Took: time.Second, CPU: time.Second}, whole: Row{Took: 9 * time.Second, CPU: 2 * time.Second}, busy: true},
		"growth beside other work": {
			half: Row{Took: time.Second, CPU: time.Second}, whole: Row{Took: time.Second, CPU: 3 * time.Second}, busy: true,
			says: "restore: twice the buyers cost 3.00 times as much",
		},
		"a call that waited for a core": {whole: Row{Call: Call{Took: time.Second, P99: time.Second, Median: 5 * time.Millisecond}}, busy: true},
		"calls beside other work": {
			whole: Row{Call: Call{Took: time.Second, Median: 6 * time.Millisecond}}, busy: true,
			says: "restore, 2 buyers: every second call of a command keeps Redis busy for 6ms or more, above 5ms",
		},
		"memory that grows": {
			half: Row{Memory: Memory{Program: 60 * mib}}, whole: Row{Memory: Memory{Program: 108 * mib}},
			says: "restore: the memory of the program grows with the sale: 60 MiB for half of the buyers, 108 for all",
		},
		"memory that does not": {half: Row{Memory: Memory{Program: 60 * mib}}, whole: Row{Memory: Memory{Program: 107 * mib}}},
		"memory of a server":   {half: Row{Memory: Memory{Redis: mib}}, whole: Row{Memory: Memory{Redis: 900 * mib, Database: 900 * mib}}},
		"an audit":             {whole: Row{Violated: []string{"the audit is not clean:\nI1"}}, says: "restore, 2 buyers: the audit is not clean: | I1"},
	} {
		t.Run(name, func(t *testing.T) {
			tc.half.Phase, tc.whole.Phase, tc.half.Items, tc.whole.Items = "restore", "restore", 1, 2
			r := Report{Limits: Limits{}.withDefaults(), Busy: tc.busy, Sales: []Sale{{1, []Row{tc.half}}, {2, []Row{tc.whole}}}}
			if tc.says == "" {
				require.NoError(t, r.Verdict())
				return
			}
			require.ErrorIs(t, r.Verdict(), ErrBroken)
			require.ErrorContains(t, r.Verdict(), tc.says)
			require.Len(t, r.Broken(), 1)
		})
	}
}

// A phase that waits for a core is longer, and more is sold of the other coupon meanwhile.
func TestGrowth_OrdersOfOtherCoupon_DoNotCount(t *testing.T) {
	of := func(took, cpu time.Duration, others int) Sale {
		return Sale{Buyers: 2, Rows: []Row{
			{Phase: "calm", CPU: time.Second, Others: Latency{Orders: 250}},
			{Phase: "settling", Items: 1, Took: took, CPU: cpu, Others: Latency{Orders: others}},
		}}
	}
	half := of(5*time.Second, 3*time.Second, 250) // two of its own
	r := Report{Limits: Limits{}.withDefaults(), Busy: true, Sales: []Sale{half, of(20*time.Second, 8*time.Second, 1000)}}
	require.NoError(t, r.Verdict())
	require.Equal(t, "4s, 2.00", r.cells()[1][5])
	r.Sales[1] = of(20*time.Second, 9*time.Second, 1000)
	require.ErrorContains(t, r.Verdict(), "settling: twice the buyers cost 2.50 times as much, above 2.20: 20s, and 5s of processor time")
	r.Sales[1].Rows, r.Sales[0].Rows = r.Sales[1].Rows[1:], r.Sales[0].Rows[1:]
	require.ErrorContains(t, r.Verdict(), "3.00 times as much", "what such an order costs is not known")
}

// The machine was quick before the whole and slow after it.
func TestGrowth_TwoHalves_UsesTheirMean(t *testing.T) {
	of := func(took time.Duration) Sale {
		return Sale{Rows: []Row{{Phase: "audit", Items: 1, Took: took, CPU: took, Memory: Memory{Program: int64(took)}}}}
	}
	r := Report{Limits: Limits{Memory: 1 << 62}.withDefaults(), Sales: []Sale{of(2 * time.Second), of(6 * time.Second)}}
	require.ErrorContains(t, r.Verdict(), "audit: twice the buyers cost 3.00 times as much, above 2.20")
	require.Equal(t, []string{"2s", "6s", "3.00", "6s, 3.00"}, r.cells()[0][2:6])
	r.Sales = append(r.Sales, of(4*time.Second))
	require.NoError(t, r.Verdict())
	require.Equal(t, []string{"2s, 4s", "6s", "2.00", "6s, 2.00"}, r.cells()[0][2:6])
	r.Sales[2] = of(3 * time.Second)
	require.ErrorContains(t, r.Verdict(), "2.40 times as much")
}

// Plain commands grow by so much on this machine, by Redis' own time.
func TestJudge_Loading_MayGrowLikePlainCommands(t *testing.T) {
	of := func(phase string, load, plain time.Duration) Sale {
		return Sale{Rows: []Row{{Phase: phase, Items: 1, Took: load}, {Phase: "reference", Items: 1, Took: plain}}}
	}
	for _, tc := range []struct {
		phase       string
		load, plain time.Duration // with all of the buyers; with half of them 2 s and 500 ms
		broken      string
	}{
		{"restore", 5280 * time.Millisecond, 1200 * time.Millisecond, ""},
		{"publication", 5300 * time.Millisecond, 1200 * time.Millisecond, "publication: twice the buyers cost 2.65 times as much, above 2.64"},
		{"restore", 4800 * time.Millisecond, 900 * time.Millisecond, "restore: twice the buyers cost 2.40 times as much, above 2.20"},
		{"audit", 4800 * time.Millisecond, 1200 * time.Millisecond, "audit: twice the buyers cost 2.40 times as much, above 2.20"},
	} {
		t.Run(fmt.Sprint(tc.phase, tc.load, tc.plain), func(t *testing.T) {
			half := of(tc.phase, 2*time.Second, 500*time.Millisecond)
			r := Report{Limits: Limits{}.withDefaults(), Sales: []Sale{half, of(tc.phase, tc.load, tc.plain)}}
			if tc.broken == "" {
				require.NoError(t, r.Verdict())
				return
			}
			require.ErrorContains(t, r.Verdict(), tc.broken)
		})
	}
}

func TestJudge_LatencyUnknown_ExcusesNothing(t *testing.T) {
	r := Report{NoSchedLatency: "no right"}
	require.Contains(t, r.remarks()[1], "so no call of Redis is excused by it: no right")
}

func TestRun_InvalidOptions_ReturnsErrOptions(t *testing.T) {
	for _, o := range []Options{{Buyers: 100}, {Buyers: 1 << 40}, {Buyers: 1000, Phases: []string{"rest"}}} {
		_, err := Run(t.Context(), o)
		require.ErrorIs(t, err, ErrOptions)
	}
}
