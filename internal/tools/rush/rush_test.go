package rush

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestReport_EveryTap_IsCountedByOutcome(t *testing.T) {
	for name, netHTTP := range map[string]bool{"on the light path": false, "through net/http": true} {
		t.Run(name, func(t *testing.T) {
			s := open(t, &fakeServer{stock: 30})
			rep := s.rush(t, Options{Users: 200, Concurrency: 16, netHTTP: netHTTP})
			require.Equal(t, 200, rep.Asked)
			require.Equal(t, 30, rep.Accepted)
			require.Equal(t, map[string]int{"sold_out": 170}, rep.Refused)
			require.Zero(t, rep.Failed)
			require.Equal(t, 30, rep.Committed)
			require.Equal(t, 30, rep.ReadBack)
			require.Empty(t, rep.Violations)
			require.True(t, rep.Clean())
			require.Positive(t, rep.P50Millis)
			require.GreaterOrEqual(t, rep.P99Millis, rep.P50Millis)
			require.InDelta(t, float64(30)/rep.SellingSeconds, rep.OrdersPerSecond, 0.01)
			require.InDelta(t, float64(200)/rep.Seconds, rep.RequestsPerSecond, 0.01)
			require.LessOrEqual(t, s.peak, 16, "no more at once than were allowed")
		})
	}
}

func TestReport_Committed_OmitsEarlierOrders(t *testing.T) {
	s := open(t, &fakeServer{stock: 20})
	require.Equal(t, 10, s.rush(t, Options{Users: 10}).Committed)
	rep := s.rush(t, Options{Users: 5, FirstUser: 100})
	require.Equal(t, 5, rep.Committed)
	require.True(t, rep.Clean())
}

func TestRun_EveryNthBuyerTapsTwice_GetsOneOrder(t *testing.T) {
	s := open(t, &fakeServer{stock: 100})
	rep := s.rush(t, Options{Users: 20, DoubleTapEvery: 4, Keys: true})
	require.Equal(t, 25, rep.Asked)
	require.Equal(t, 20, rep.Accepted)
	require.Equal(t, map[string]int{"limit_reached": 5}, rep.Refused)
	require.True(t, rep.Clean(), rep.Violations)
	require.Len(t, s.tries, 25, "a key per tap, and none twice")
}

func TestRun_OneUserTapsManyTimes_KeepsLimit(t *testing.T) {
	const taps = 12
	together := make(chan struct{})
	var inside atomic.Int32
	s := open(t, &fakeServer{stock: 100})
	s.buy = func(http.ResponseWriter, string, string, int) bool {
		if inside.Add(1) == taps {
			close(together) // only when all of them are here may any go on
		}
		<-together
		return false
	}
	rep := s.rush(t, Options{Taps: taps, Concurrency: 2})
	require.Equal(t, taps, rep.Asked)
	require.Equal(t, 1, rep.Accepted)
	require.Equal(t, map[string]int{"limit_reached": taps - 1}, rep.Refused)
}

func TestRun_PayAndCancel_FollowPercentages(t *testing.T) {
	s := open(t, &fakeServer{stock: 200})
	rep := s.rush(t, Options{Users: 200, PayPercent: 40, CancelPercent: 25})
	require.Equal(t, 200, rep.Accepted)
	require.Equal(t, 80, rep.Paid)
	require.Equal(t, 50, rep.Cancelled)
	require.Equal(t, 200, rep.Committed, "a cancelled order was an order")
	require.True(t, rep.Clean(), rep.Violations)
}

func TestRun_CancelledUnit_MayBeSoldAgain(t *testing.T) {
	s := open(t, &fakeServer{stock: 10})
	rep := s.rush(t, Options{Users: 100, CancelPercent: 100, Concurrency: 4})
	require.Equal(t, 100, rep.Accepted)
	require.Zero(t, rep.Oversold)
	require.True(t, rep.Clean(), rep.Violations)
}

func TestOpenLoop_Schedule_IsKeptAndCountedFrom(t *testing.T) {
	const stall = 200 * time.Millisecond
	var served atomic.Int32
	s := open(t, &fakeServer{stock: 1000})
	s.buy = func(http.ResponseWriter, string, string, int) bool {
		if served.Add(1) == 1 {
			time.Sleep(stall) // the server stands still once, with everybody behind it
		}
		return false
	}
	rep := s.rush(t, Options{Users: 100, Concurrency: 1, Rate: 400})
	require.GreaterOrEqual(t, rep.Seconds, 99.0/400, "nobody comes before the schedule says")
	// The one lane was blocked for 200 ms, in which 80 taps fell due. A closed loop
	// would see one slow answer in a hundred; here half of them were kept waiting.
	require.Greater(t, rep.P50Millis, 20.0)
	require.Greater(t, rep.P99Millis, 150.0)
}

func TestRun_NoAudit_JudgesByRecord(t *testing.T) {
	s := open(t, &fakeServer{stock: 5})
	rep, err := Run(t.Context(), Options{URL: s.url, Users: 8, Token: plainToken})
	require.NoError(t, err)
	require.Equal(t, AuditNotRun, rep.Audit)
	require.Equal(t, 5, rep.Committed)
	require.False(t, rep.Clean())
}

func TestRun_ForeignTokens_NotesTheSecret(t *testing.T) {
	s := open(t, &fakeServer{stock: 5})
	foreign := func(context.Context, int64) (string, error) { return "forged", nil }
	rep, err := Run(t.Context(), Options{URL: s.url, Users: 3, Token: foreign, NoAudit: true})
	require.NoError(t, err)
	require.Equal(t, map[string]int{codeUnauthenticated: 3}, rep.Refused)
	require.Contains(t, rep.Notes, "the server rejected tokens of buyers: "+wrongSecret)
}

func TestRun_PrefixInURL_IsKept(t *testing.T) {
	s := open(t, &fakeServer{stock: 5})
	behind := http.NewServeMux()
	behind.Handle("/shop/", http.StripPrefix("/shop", s.routes()))
	front := newServer(t, behind)
	rep, err := Run(t.Context(), Options{URL: front + "/shop/", Users: 3, Token: plainToken, AdminToken: "admin"})
	require.NoError(t, err)
	require.Equal(t, 3, rep.Accepted)
	require.Equal(t, 3, rep.ReadBack)
	require.True(t, rep.Clean(), rep.Violations)
}

func TestRun_InvalidOptions_DoNotStart(t *testing.T) {
	s := open(t, &fakeServer{stock: 5})
	for name, tc := range map[string]struct {
		change func(*Options)
		says   string
	}{
		"without users":                {func(o *Options) { o.Users = 0 }, "--users must be 1 or more, not 0"},
		"without tokens":               {func(o *Options) { o.Token = nil }, "token"},
		"to something that is no URL":  {func(o *Options) { o.URL = "localhost:8080" }, `--url "localhost:8080" needs http://`},
		"to an address alone":          {func(o *Options) { o.URL = "127.0.0.1:18060" }, `--url "127.0.0.1:18060" needs http://`},
		"where nobody listens":         {func(o *Options) { o.URL = "http://127.0.0.1:1" }, "is it running? Start it with seckill serve"},
		"for a coupon that is not":     {func(o *Options) { o.Coupon = "77" }, "coupon 77"},
		"for a coupon that is a path":  {func(o *Options) { o.Coupon = "1/../2" }, "not a coupon id"},
		"with more than all paying":    {func(o *Options) { o.PayPercent, o.CancelPercent = 60, 50 }, "together, not 110"},
		"with a judge who is none":     {func(o *Options) { o.AdminToken = "guest" }, "403 forbidden"},
		"with a negative rate":         {func(o *Options) { o.Rate = -1 }, "--rate must be 0 or more"},
		"with a token of two lines":    {func(o *Options) { o.Token = Signed2Lines }, "line break"},
		"with negative double tapping": {func(o *Options) { o.DoubleTapEvery = -1 }, "--double-tap-every must be 0 or more, not -1"},
		"with too many paying":         {func(o *Options) { o.PayPercent = 101 }, "--pay-percent must be from 0 to 100, not 101"},
		"with fewer than none leaving": {func(o *Options) { o.CancelPercent = -1 }, "--cancel-percent must be from 0 to 100, not -1"},
		"with another secret":          {func(o *Options) { o.AdminToken = "forged" }, "401 unauthenticated: the secret of the tokens is not the server's"},
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{URL: s.url, Users: 2, Token: plainToken, AdminToken: "admin"}
			tc.change(&o)
			_, err := Run(t.Context(), o)
			require.ErrorContains(t, err, tc.says)
		})
	}
	require.Empty(t, s.orders)
}

func TestProgress_Pipe_PrintsNothing(t *testing.T) {
	var out strings.Builder
	s := open(t, &fakeServer{stock: 5})
	s.rush(t, Options{Users: 10, ProgressOutput: &out})
	require.Empty(t, out.String(), "a short run prints no line")
}
