package api

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// watcher reads one stream over a real connection.
type watcher struct {
	t    *testing.T
	resp *http.Response
	in   *bufio.Scanner
	stop context.CancelFunc
}

func watch(t *testing.T, url string) *watcher {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/api/v1/coupons/1/live", nil)
	require.NoError(t, err)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	require.NoError(t, err)
	require.Equal(t, 200, resp.StatusCode)
	require.Equal(t, "text/event-stream", resp.Header.Get("Content-Type"))
	w := &watcher{t: t, resp: resp, in: bufio.NewScanner(resp.Body), stop: stop}
	t.Cleanup(func() { stop(); _ = resp.Body.Close() })
	return w
}

// next reads up to the next event of that name, and returns false at the end of the stream.
func (w *watcher) next(name string) (map[string]any, bool) {
	w.t.Helper()
	found := ""
	for w.in.Scan() {
		line := w.in.Text()
		if event, ok := strings.CutPrefix(line, "event: "); ok {
			found = event
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok && found == name {
			var got map[string]any
			require.NoError(w.t, json.Unmarshal([]byte(data), &got))
			return got, true
		}
	}
	return nil, false
}

func listen(t *testing.T, s *Server, set func(*http.Server)) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(s.Handler())
	if set != nil {
		set(server.Config)
	}
	server.Start()
	t.Cleanup(func() { s.Close(); server.Close() })
	return server
}

func TestLiveStream_SeveralClients_SharePollUntilClose(t *testing.T) {
	sh := newShop()
	s := sh.serve(t, Options{MaxStreams: 2})
	server := listen(t, s, nil)
	first, second := watch(t, server.URL), watch(t, server.URL)
	for _, w := range []*watcher{first, second} {
		got, ok := w.next("sale")
		require.True(t, ok)
		require.Equal(t, map[string]any{
			"coupon_id": "1", "state": "on_sale", "begins_at": "2030-01-31T16:00:00.123Z", "ends_at": "2030-01-31T18:00:00.123Z",
			"units": 100.0, "left": 94.0, "being_written": 0.0, "orders": 6.0, "returning": 0.0,
			"requests": 0.0, "too_late": 0.0, "sold_again": 0.0,
			"shards": []any{25.0, 24.0, 23.0, 22.0}, "orders_per_second": 0.0, "p99_ms": 12.3,
			"holds": []any{1.0, 0.0, 0.0, 2.0}, "lent": []any{}, "locks_held": 3.0, "locks_waiting": 1.0,
			"instances": []any{map[string]any{"name": "one", "sold_out": true, "self": true}}, "at": "2030-01-31T17:00:00.123Z",
		}, got)
	}
	s.hub.mu.Lock()
	require.Len(t, s.hub.feeds, 1)
	require.Len(t, s.hub.feeds[1].subs, 2)
	s.hub.mu.Unlock()

	rec := do(t, s, ask{method: "GET", path: "/api/v1/coupons/1/live"})
	require.Equal(t, 503, rec.Code)
	require.Equal(t, "overloaded", codeOf(t, rec))

	closed := make(chan struct{})
	go func() { s.Close(); close(closed) }()
	for _, w := range []*watcher{first, second} {
		_, ok := w.next("never")
		require.False(t, ok, "the stream has ended")
		require.NoError(t, w.in.Err(), "and as a stream should")
	}
	<-closed
	rec = do(t, s, ask{method: "GET", path: "/api/v1/coupons/1/live"})
	require.Equal(t, "unavailable", codeOf(t, rec))
	require.Equal(t, 200, do(t, s, ask{method: "GET", path: "/api/v1/coupons/1"}).Code, "other requests go on")
}

func TestEventStream_OneAddress_HasOnlyItsShare(t *testing.T) {
	s := newShop().serve(t, Options{MaxStreams: 4, MaxStreamsPerAddress: 2, TrustedProxies: []string{"192.0.2.0/24"}})
	from := func(address string) *httptest.ResponseRecorder {
		return do(t, s, ask{
			method: "GET", path: "/api/v1/coupons/1/live", header: http.Header{"X-Forwarded-For": {address}}, // a test's own is 192.0.2.1
		})
	}
	var leave []func()
	for range 2 {
		_, done, err := s.hub.join(1, addressKey("2001:db8::1"))
		require.NoError(t, err)
		leave = append(leave, done)
	}
	_, _, err := s.hub.join(1, addressKey("2001:db8::2"))
	require.ErrorIs(t, err, errTooManyStreams, "of the same /64")
	rec := from("2001:db8::2")
	require.Equal(t, 429, rec.Code)
	require.Equal(t, "rate_limited", codeOf(t, rec))
	require.NotEmpty(t, rec.Header().Get("Retry-After"))
	require.Equal(t, 200, do(t, s, ask{method: "GET", path: "/api/v1/coupons/1"}).Code, "it may ask instead")

	_, done, err := s.hub.join(1, addressKey("203.0.113.7"))
	require.NoError(t, err, "another address is not concerned")
	done()
	leave[0]()
	leave[0]() // twice is once
	_, done, err = s.hub.join(1, addressKey("2001:db8::2"))
	require.NoError(t, err, "one has gone, and another may come")
	require.Equal(t, 429, from("2001:db8::3").Code)
	done()
	leave[1]()
	require.Empty(t, s.hub.from, "no address is kept")
}

func TestHub_LastWatcherLeaves_StopsPolling(t *testing.T) {
	s := newShop().serve(t, Options{})
	server := listen(t, s, nil)
	first, second := watch(t, server.URL), watch(t, server.URL)
	feeds := func() int {
		s.hub.mu.Lock()
		defer s.hub.mu.Unlock()
		return len(s.hub.feeds)
	}
	first.stop()
	_, ok := second.next("sale")
	require.True(t, ok)
	require.Equal(t, 1, feeds())
	second.stop()
	require.Eventually(t, func() bool { return feeds() == 0 }, 5*time.Second, time.Millisecond)
	s.hub.polls.Wait()
}

func TestEventStream_ServerDeadlines_Outlives(t *testing.T) {
	s := newShop().serve(t, Options{})
	server := listen(t, s, func(h *http.Server) {
		h.ReadTimeout, h.WriteTimeout = 300*time.Millisecond, 300*time.Millisecond
	})
	w := watch(t, server.URL)
	for range 3 { // the third comes after a second
		_, ok := w.next("sale")
		require.True(t, ok)
	}
}

func TestEventStream_UnknownCoupon_IsRefusedFirst(t *testing.T) {
	s := newShop().serve(t, Options{})
	rec := do(t, s, ask{method: "GET", path: "/api/v1/coupons/9/live"})
	require.Equal(t, 404, rec.Code)
	require.Equal(t, "not_found", codeOf(t, rec))
	require.Empty(t, s.hub.feeds)
}

// The writes to thousands of streams at once would be in the way of who buys at that moment.
func TestEventStream_ManyReaders_AreServedInBursts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const streams = 3*publishBurst + 1
		sh := newShop()
		h := newHub(sh.parts(), Options{Now: time.Now, RequestTimeout: time.Second, MaxStreams: streams}.withDefaults())
		defer h.close()
		var all []<-chan []byte
		for range streams {
			events, leave, err := h.join(1, "")
			require.NoError(t, err)
			defer leave()
			all = append(all, events)
		}
		fetched := func() (n int) {
			synctest.Wait()
			for _, events := range all {
				select {
				case <-events:
					n++
				default:
				}
			}
			return n
		}
		fetched()
		time.Sleep(pollEvery) // all have the first event
		fetched()
		time.Sleep(pollEvery / 2) // and the second
		fetched()
		time.Sleep(pollEvery / 2)
		var got []int
		for range 5 {
			got = append(got, fetched())
			time.Sleep(pollEvery / 2 / 4)
		}
		require.Equal(t, []int{publishBurst, publishBurst, publishBurst, 1, 0}, got)
	})
}

func TestLiveStream_StoreUnavailable_SendsTroubleThenRecovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sh := newShop()
		h := newHub(sh.parts(), Options{Now: time.Now, RequestTimeout: time.Second, MaxStreams: 10}.withDefaults())
		events, leave, err := h.join(1, "")
		require.NoError(t, err)
		defer h.close()
		defer leave()
		require.Contains(t, string(<-events), "event: sale\n")
		sh.set(func(context.Context) error { return order.ErrUnavailable })
		require.Contains(t, string(<-events), "event: trouble\ndata: {\"coupon_id\":\"1\",\"code\":\"unavailable\"")
		sh.set(func(context.Context) error { return coupon.ErrNotLoaded })
		require.Contains(t, string(<-events), `"code":"stock_loading"`)
		sh.set(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		before := time.Now()
		require.Contains(t, string(<-events), `"code":"unavailable"`)
		require.Equal(t, 1500*time.Millisecond, time.Since(before), "a store that hangs is given up after the budget")
		sh.set(nil)
		event := string(<-events)
		if strings.Contains(event, "event: trouble\n") { // of a reading that had begun
			event = string(<-events)
		}
		require.Contains(t, event, "event: sale\n")
	})
}

func TestEventStream_SlowReader_GetsNewestEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sh := newShop()
		h := newHub(sh.parts(), Options{Now: time.Now}.withDefaults())
		events, leave, err := h.join(1, "")
		require.NoError(t, err)
		time.Sleep(10*pollEvery + time.Millisecond) // the bubble's clock, not the wall's
		sh.mu.Lock()
		require.Equal(t, 11, sh.reads)
		sh.mu.Unlock()
		began := time.Now()
		var e saleEvent
		text, _, _ := strings.Cut(strings.SplitN(string(<-events), "data: ", 2)[1], "\n")
		require.NoError(t, json.Unmarshal([]byte(text), &e))
		require.WithinDuration(t, began, e.At, 2*time.Millisecond)
		leave()
		leave() // leaving twice has no effect
		require.Zero(t, h.streams)
		h.close()
		_, _, err = h.join(1, "")
		require.ErrorIs(t, err, errClosing)
	})
}

func TestLiveSale_DraftCoupon_ReportsStockAndRate(t *testing.T) {
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	c := coupon.Coupon{ID: 1, Total: 100, Left: 100, EndsAt: now.Add(time.Hour), State: coupon.Draft}
	e := reading{coupon: c, ledger: Ledger{Units: 100, Unsold: 100}, counts: &requestCounts{now: time.Now}}.event(&rateMeter{}, now)
	require.Equal(t, []int64{100, 100, 0, 0, 0}, []int64{e.Units, e.Left, e.BeingWritten, e.Orders, e.Returning})
	require.Equal(t, []int64{}, e.Shards)

	var p rateMeter
	for i, want := range []float64{0, 10, 10, 10, 10, 10} {
		require.InDelta(t, want, p.of(int64(5*i), now.Add(time.Duration(i)*pollEvery)), 0.01)
	}
	require.InDelta(t, 0, p.of(2, now.Add(6*pollEvery)), 0.01, "giving back is not selling")
}

// set changes what the shop returns while it is in use.
func (s *shop) set(say func(context.Context) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.say = say
}
