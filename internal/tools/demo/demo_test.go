package demo

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/api"
	"example.com/seckill/internal/app"
	"example.com/seckill/internal/config"
	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/tools/rush"
)

func TestDemo_LaterBuyers_BuyReturnedUnits(t *testing.T) {
	first := rush.Report{
		Asked: 400, Accepted: 48, Committed: 48, Refused: map[string]int{"sold_out": 350}, Failed: 2,
		Failures: map[string]int{"timeout": 2}, Audit: rush.AuditClean, Seconds: 3, P50Millis: 7,
	}
	d := Demo{Users: 300, Stock: 50}
	var came []rush.Options
	play := func(_ context.Context, o rush.Options) (rush.Report, error) {
		came = append(came, o)
		return rush.Report{
			Asked: 29, Accepted: 1, Committed: 1, Refused: map[string]int{"sold_out": 28}, Audit: rush.AuditClean, Seconds: 1, P50Millis: 1,
		}, nil
	}
	require.Error(t, d.checkUndersold(first))
	r, err := d.sellReturned(t.Context(), first, rush.Options{Rate: 9}, play)
	require.NoError(t, err)
	require.NoError(t, d.checkUndersold(r))
	require.Len(t, came, 2, "one of them came back later still")
	require.Equal(t, []int{22, 21}, []int{came[0].Users, came[1].Users})
	require.Equal(t, []int64{301, 323}, []int64{came[0].FirstUser, came[1].FirstUser}, "buyers of their own")
	require.Zero(t, came[0].Rate)
	require.Equal(t, 458, r.Asked)
	require.Equal(t, r.Asked, r.Accepted+r.Failed+r.Refused["sold_out"], "each tap in one of them")
	require.Equal(t, []float64{3, 7}, []float64{r.Seconds, r.P50Millis}, "of the sale itself")
	require.Len(t, r.Notes, 2)
	require.Contains(t, r.Notes[0], "2 units came back from holds that were left open")
	require.Equal(t, 350, first.Refused["sold_out"], "the first report is as it was")
}

func TestDemo_NothingReturned_NoLaterBuyersCome(t *testing.T) {
	play := func(context.Context, rush.Options) (rush.Report, error) {
		t.Error("nothing is left for them")
		return rush.Report{}, nil
	}
	for name, c := range map[string]struct {
		d Demo
		r rush.Report
	}{
		"all was sold":           {Demo{Users: 300, Stock: 50}, rush.Report{Committed: 50, Audit: rush.AuditClean}},
		"fewer buyers than that": {Demo{Users: 60, Stock: 50}, rush.Report{Committed: 49, Audit: rush.AuditClean}},
		"it was stopped":         {Demo{Users: 300, Stock: 50}, rush.Report{Committed: 20, Audit: rush.AuditClean, Stopped: true}},
		"it is not clean":        {Demo{Users: 300, Stock: 50}, rush.Report{Committed: 20, Audit: rush.AuditViolated}},
	} {
		got, err := c.d.sellReturned(t.Context(), c.r, rush.Options{}, play)
		require.NoError(t, err, name)
		require.Equal(t, c.r, got, name)
	}
}

// Units that stay away although buyers come for them are undersold.
func TestDemo_Undersold_SaysSo(t *testing.T) {
	d := Demo{Users: 300, Stock: 50}
	n := 0
	r, err := d.sellReturned(t.Context(), rush.Report{Committed: 48, Audit: rush.AuditClean}, rush.Options{},
		func(context.Context, rush.Options) (rush.Report, error) {
			n++
			return rush.Report{Audit: rush.AuditClean}, nil
		})
	require.NoError(t, err)
	require.Equal(t, lateRounds, n)
	require.ErrorContains(t, d.checkUndersold(r), "undersold: 48 of 50")
}

// Visitors of a kept demonstration come until they are stopped, and give way to a rush that is called.
func TestDemo_Visitors_ComeUntilStopped(t *testing.T) {
	cfg := config.Default()
	cfg.HTTP.Addr, cfg.Admin.Addr = "127.0.0.1:0", "127.0.0.1:0"
	var rushes *Runner
	s, err := app.Start(t.Context(), cfg, app.NewLog(cfg.Log, io.Discard), app.Options{NewRush: func(s *app.Server) app.Rush {
		rushes = NewRunner(s)
		return rushes
	}})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Stop(context.Background())) }()
	require.NoError(t, s.OpenDemoSale(t.Context()))
	require.NoError(t, rushes.visit(1, 50))
	status := func(is func(api.RushStatus) bool) func() bool {
		return func() bool { return is(rushes.Status()) }
	}
	const patient, often = time.Minute, 20 * time.Millisecond
	require.Eventually(t, status(func(at api.RushStatus) bool { return at.Visitors && at.Accepted > 3 }), patient, often)

	require.NoError(t, rushes.Start(api.RushRequest{CouponID: 1, Users: 5}))
	require.False(t, rushes.Status().Visitors)
	require.Eventually(t, status(func(at api.RushStatus) bool { return !at.Running && at.Report != nil }), patient, often)
	at := rushes.Status()
	require.Empty(t, at.Error)
	require.Equal(t, 6, at.Asked, "of the rush alone: five buyers, of which one taps twice")

	require.NoError(t, rushes.visit(1, 50))
	require.NoError(t, rushes.visit(1, 50), "visitors give way to visitors")
	rushes.Stop()
	require.Eventually(t, status(func(at api.RushStatus) bool { return !at.Running }), patient, often)
	report, is := rushes.Status().Report.(rush.Report)
	require.True(t, is)
	require.True(t, report.Stopped)
}

func TestPace_CountdownNotSet_AwaitsAViewer(t *testing.T) {
	set := func(flags ...string) func(string) bool {
		return func(flag string) bool { return slices.Contains(flags, flag) }
	}
	d := Demo{Users: 10_000, Stock: 500}
	d.Pace(set())
	require.True(t, d.Awaits)
	require.Equal(t, 8*time.Second, d.StartsIn)
	exact := Demo{Users: 10_000, Stock: 500, StartsIn: time.Second}
	exact.Pace(set("starts-in"))
	require.False(t, exact.Awaits, "the flag says when the sale begins")
	require.Equal(t, time.Second, exact.StartsIn)
}

func TestAwaitViewer_FirstPageOrLimit_EndsTheWait(t *testing.T) {
	for name, c := range map[string]struct {
		comes, stops, want time.Duration
	}{
		"a page is open":    {0, time.Hour, 0},
		"a page comes":      {7 * time.Second, time.Hour, 7 * time.Second},
		"no page comes":     {time.Hour, time.Hour, viewerWait},
		"it is interrupted": {time.Hour, 3 * time.Second, 3 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), c.stops)
			defer cancel()
			began := time.Now() // the bubble's clock
			new(Demo).awaitViewer(ctx, func() bool { return time.Since(began) >= c.comes })
			require.Equal(t, c.want, time.Since(began), name)
		})
	}
}

func TestCountDown_ViewerComes_MovesTheBegin(t *testing.T) {
	cfg := config.Default()
	cfg.HTTP.Addr, cfg.Admin.Addr = "127.0.0.1:0", "127.0.0.1:0"
	s, err := app.Start(t.Context(), cfg, app.NewLog(cfg.Log, io.Discard), app.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Stop(context.Background())) }()
	require.NoError(t, s.Sell(t.Context(), coupon.Coupon{
		Title: "Flash sale", Total: 5, LimitPerUser: 1, BeginsAt: time.Now().Add(time.Hour), EndsAt: time.Now().Add(2 * time.Hour),
	}))
	require.False(t, s.Watched())
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	page, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/api/v1/coupons/1/live", http.NoBody)
	require.NoError(t, err)
	answer, err := http.DefaultClient.Do(page)
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	require.True(t, s.Watched())

	d := Demo{StartsIn: 8 * time.Second, Out: io.Discard}
	begins, err := d.countDown(t.Context(), s)
	require.NoError(t, err)
	require.WithinDuration(t, time.Now().Add(d.StartsIn), begins, 7*time.Second)
	read, err := http.Get(s.URL + "/api/v1/coupons/1")
	require.NoError(t, err)
	defer func() { _ = read.Body.Close() }()
	var c struct {
		BeginsAt time.Time `json:"begins_at"`
	}
	require.NoError(t, json.NewDecoder(read.Body).Decode(&c))
	require.WithinDuration(t, begins, c.BeginsAt, 10*time.Millisecond, "the page counts down to it")
}
