package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/api/auth"
	"example.com/seckill/internal/order"
)

func TestRateLimit_UserAboveRate_Returns429(t *testing.T) {
	sh := newShop()
	now := sh.now
	s := sh.serve(t, Options{PerUserRate: 2, Burst: 3, Now: func() time.Time { return now }})
	mine, theirs, chief := sign(t, s, 1, auth.RoleUser), sign(t, s, 2, auth.RoleUser), sign(t, s, 1, auth.RoleAdmin)
	status := func(path, token string) int { return do(t, s, ask{method: "GET", path: path, token: token}).Code }
	for range 3 {
		require.Equal(t, 200, status("/api/v1/orders", mine))
	}
	rec := do(t, s, ask{method: "POST", path: place, token: mine})
	require.Equal(t, 429, rec.Code)
	require.Equal(t, "rate_limited", codeOf(t, rec))
	require.Equal(t, "1", rec.Header().Get("Retry-After"))
	require.Equal(t, `"user";q=3;w=2`, rec.Header().Get("Ratelimit-Policy"), "3 requests, at 2 a second")
	require.Equal(t, `"user";r=0;t=1`, rec.Header().Get("Ratelimit"))
	require.Equal(t, 200, status("/api/v1/orders", theirs), "another user is not concerned")
	require.Equal(t, 200, status("/api/v1/coupons", mine), "nor what anybody may see")
	require.Equal(t, 200, status("/api/v1/admin/coupons/1/audit", chief), "nor an administrator's work")

	now = now.Add(500 * time.Millisecond)
	require.Equal(t, 200, status("/api/v1/orders", mine))
	require.Equal(t, 429, status("/api/v1/orders", mine))
}

func TestSessionRoute_RateLimit_CountsPerAddress(t *testing.T) {
	s := newShop().serve(t, Options{DemoLogin: true, SessionRate: 1, TrustedProxies: []string{"192.0.2.0/24"}})
	from := func(forwarded string) int {
		return do(t, s, ask{
			method: "POST", path: "/api/v1/sessions", body: `{"user_id":"42"}`,
			header: http.Header{"X-Forwarded-For": {forwarded}}, // a test's own address is 192.0.2.1
		}).Code
	}
	require.Equal(t, 201, from("203.0.113.5"))
	require.Equal(t, 429, from("203.0.113.5"))
	rec := do(t, s, ask{
		method: "POST", path: "/api/v1/sessions", body: `{"user_id":"42"}`, header: http.Header{"X-Forwarded-For": {"203.0.113.5"}},
	})
	require.Equal(t, `"address";q=1;w=1`, rec.Header().Get("Ratelimit-Policy"))
	require.Equal(t, `"address";r=0;t=1`, rec.Header().Get("Ratelimit"))
	require.Equal(t, 201, from("203.0.113.6"))
	require.Equal(t, 201, from("2001:db8::1"))
	require.Equal(t, 429, from("2001:db8::2"), "an IPv6 host has a whole /64")
	require.Equal(t, 201, from("2001:db8:0:1::1"))
}

func TestRateLimit_AnyRoute_CountsPerAddress(t *testing.T) {
	s := newShop().serve(t, Options{AddressRate: 1, TrustedProxies: []string{"192.0.2.0/24"}})
	token := sign(t, s, 1, auth.RoleUser)
	from := func(forwarded, path, token string) int {
		return do(t, s, ask{
			method: "GET", path: path, token: token, header: http.Header{"X-Forwarded-For": {forwarded}},
		}).Code
	}
	require.Equal(t, 200, from("203.0.113.5", "/api/v1/coupons", ""))
	require.Equal(t, 200, from("203.0.113.5", "/api/v1/orders", token))
	require.Equal(t, 429, from("203.0.113.5", "/api/v1/coupons", ""))
	require.Equal(t, 429, from("203.0.113.5", "/api/v1/orders", token))
	require.Equal(t, 200, from("203.0.113.6", "/api/v1/orders", token))
	rec := do(t, s, ask{method: "GET", path: "/api/v1/coupons", header: http.Header{"X-Forwarded-For": {"203.0.113.5"}}})
	require.Equal(t, `"address";q=2;w=2`, rec.Header().Get("Ratelimit-Policy"))
}

func TestClientAddress_ForgedHeader_IsIgnored(t *testing.T) {
	s := newShop().serve(t, Options{DemoLogin: true, SessionRate: 1})
	for i, want := range []int{201, 429} {
		rec := do(t, s, ask{
			method: "POST", path: "/api/v1/sessions", body: `{"user_id":"42"}`,
			header: http.Header{"X-Forwarded-For": {fmt.Sprintf("203.0.113.%d", i)}},
		})
		require.Equal(t, want, rec.Code)
	}
}

func TestMaxInFlight_TooMany_ShedsOnlyTheExcess(t *testing.T) {
	sh := newShop()
	s := sh.serve(t, Options{MaxInFlight: 2})
	token := sign(t, s, 42, auth.RoleUser)
	inside, open := make(chan struct{}, 2), make(chan struct{})
	sh.say = func(context.Context) error {
		inside <- struct{}{}
		<-open
		return nil
	}
	var served sync.WaitGroup
	for range 2 {
		served.Go(func() {
			require.Equal(t, 201, do(t, s, ask{method: "POST", path: place, token: token}).Code)
		})
		<-inside
	}
	rec := do(t, s, ask{method: "POST", path: place}) // it is shed before its token is read
	require.Equal(t, 503, rec.Code)
	require.Equal(t, "overloaded", codeOf(t, rec))
	require.Contains(t, []string{"1", "2", "3"}, rec.Header().Get("Retry-After"))
	require.Equal(t, 200, do(t, s, ask{method: "GET", path: "/"}).Code, "the page is not shed")
	close(open)
	served.Wait()
	sh.say = nil
	require.Equal(t, 201, do(t, s, ask{method: "POST", path: place, token: token}).Code)
}

func TestMaxInFlight_PurchasesSaturate_OtherRoutesServed(t *testing.T) {
	sh := newShop()
	s := sh.serve(t, Options{MaxInFlight: 8})
	mine := sign(t, s, 42, auth.RoleUser)
	paid := do(t, s, ask{method: "POST", path: place, token: mine}).Header().Get("Location") + "/payment"
	dropped := do(t, s, ask{method: "POST", path: place, token: mine}).Header().Get("Location") + "/cancellation"
	inside, open := make(chan struct{}), make(chan struct{})
	say := func(context.Context) error {
		inside <- struct{}{}
		<-open
		return nil
	}
	defer func() { close(open) }()
	for range 2 { // the slots that they leave are free again
		sh.say = say
		var buying sync.WaitGroup
		for range 6 {
			buying.Go(func() {
				if rec := do(t, s, ask{method: "POST", path: place, token: mine}); rec.Code != 201 {
					t.Errorf("one of six buyers was told %d", rec.Code)
					inside <- struct{}{}
				}
			})
			<-inside
		}
		sh.mu.Lock()
		sh.say = nil
		sh.mu.Unlock()
		for range 3 {
			rec := do(t, s, ask{method: "POST", path: place, token: mine})
			require.Equal(t, 503, rec.Code)
			require.Equal(t, "overloaded", codeOf(t, rec))
			require.NotEmpty(t, rec.Header().Get("Retry-After"))
		}
		for _, path := range []string{paid, dropped} {
			require.Equal(t, 200, do(t, s, ask{method: "POST", path: path, token: mine}).Code)
		}
		for _, path := range []string{"/api/v1/orders", "/api/v1/coupons/1"} {
			require.Equal(t, 200, do(t, s, ask{method: "GET", path: path, token: mine}).Code)
		}
		close(open)
		buying.Wait()
		open = make(chan struct{})
	}
}

func TestRetryAfter_RefusedTogether_IsSpread(t *testing.T) {
	sh := newShop()
	s := sh.serve(t, Options{})
	sh.say = func(context.Context) error { return order.ErrOverloaded }
	told := map[string]int{}
	for range 200 {
		rec := do(t, s, ask{method: "POST", path: place, token: sign(t, s, 42, auth.RoleUser)})
		require.Equal(t, 503, rec.Code)
		require.Equal(t, "overloaded", codeOf(t, rec))
		told[rec.Header().Get("Retry-After")]++
	}
	require.Len(t, told, 3)
	require.Equal(t, 200, told["1"]+told["2"]+told["3"], "%v", told)
}

func TestHooks_EveryRequest_GetItsRoute(t *testing.T) {
	var seen []string
	sh := newShop()
	s := sh.serve(t, Options{
		Observe: func(route, method string, status int, code string, d time.Duration) {
			require.Positive(t, d)
			seen = append(seen, fmt.Sprintf("%s %s %d %s", method, route, status, code))
		},
		ObservePurchase: func(status int, code string, d time.Duration) {
			require.Positive(t, d)
			seen = append(seen, fmt.Sprintf("purchase %d %s", status, code))
		},
	})
	token := sign(t, s, 42, auth.RoleUser)
	do(t, s, ask{method: "POST", path: place, token: token})
	do(t, s, ask{method: "POST", path: place})
	do(t, s, ask{method: "GET", path: "/nothing"})
	do(t, s, ask{method: "PUT", path: place})
	sh.say = func(context.Context) error { panic("broken") }
	do(t, s, ask{method: "GET", path: "/api/v1/coupons"})
	require.Equal(t, []string{
		"POST /api/v1/coupons/:id/orders 201 ", "purchase 201 ",
		"POST /api/v1/coupons/:id/orders 401 unauthenticated", "purchase 401 unauthenticated",
		"GET unmatched 404 not_found",
		"PUT unmatched 405 method_not_allowed",
		"GET /api/v1/coupons 500 internal",
	}, seen)
}

// deadlines is a connection's writer that keeps the read deadlines it is given.
type deadlines struct {
	http.ResponseWriter

	kept []time.Time
}

func (d *deadlines) SetReadDeadline(at time.Time) error {
	d.kept = append(d.kept, at)
	return nil
}

// Slow bodies that come at once would be refused, and come again, at once.
func TestSlowBodies_ManyAtOnce_AreGivenUpAtDifferentTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const bodies = 100
		var w deadlines
		for range bodies {
			require.Error(t, readInTime(&w, func() error { return errMalformed }))
		}
		require.Len(t, w.kept, bodies)
		slices.SortFunc(w.kept, time.Time.Compare)
		now := time.Now()
		require.False(t, w.kept[0].Before(now.Add(bodyWithin)), "each has the time that is told")
		require.True(t, w.kept[bodies-1].Before(now.Add(bodyWithin+bodyGrace)))
		require.Greater(t, w.kept[bodies-1].Sub(w.kept[0]), bodyGrace/2)
	})
}
