package e2e_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/testservers"
)

const orders = "/api/v1/orders"

func TestErrorCodes_EveryCodeOfTheContract_IsAProblem(t *testing.T) {
	testservers.OneOf(t, 2)
	t.Parallel()
	s := newShop(t)
	i := s.instance(t, "SECKILL_STOCK__SHARDS=8")
	admin, user, stranger, nobody := i.asAdmin(t), i.as(t, 100), i.as(t, 101), i.as(t, 0)
	open := i.sale(t, 1000, 1)
	buy := func(id string) string { return "/api/v1/coupons/" + id + "/orders" }
	order := user.buy(open, "first").sold(t, http.StatusCreated)

	small := i.sale(t, 1, 1)
	i.as(t, 102).buy(small, "").sold(t, http.StatusCreated)
	over := i.sale(t, 5, 1)
	admin.do(http.MethodPatch, "/api/v1/admin/coupons/"+over, `{"state":"ended"}`).sold(t, http.StatusOK)
	late := i.sale(t, 5, 1)
	admin.do(http.MethodPatch, "/api/v1/admin/coupons/"+late, fmt.Sprintf(`{"ends_at":%q}`, time.Now().Add(-time.Second).UTC().Format(time.RFC3339))).sold(t, http.StatusOK)
	early := i.sale(t, 5, 1)
	admin.do(http.MethodPatch, "/api/v1/admin/coupons/"+early, fmt.Sprintf(`{"begins_at":%q}`, time.Now().Add(time.Minute).UTC().Format(time.RFC3339))).sold(t, http.StatusOK)
	paused := i.sale(t, 5, 1)
	admin.do(http.MethodDelete, "/api/v1/admin/coupons/"+paused+"/publication", "").sold(t, http.StatusOK)
	draft := i.draft(t, 5, 1)
	gone := i.sale(t, 5, 1)
	stockKeys := s.keys(t, "seckill:{"+gone+":*}:stock")
	require.Len(t, stockKeys, 8)
	const held = 640 // bucket 0
	require.NoError(t, s.redis.Set(t.Context(), "seckill:{lock:0}:user:"+strconv.Itoa(held), "somebody 1", time.Minute).Err())
	cancelled := i.as(t, 103).buy(open, "").sold(t, http.StatusCreated)
	i.as(t, 103).cancel(cancelled.ID).sold(t, http.StatusOK)

	for name, c := range map[string]struct {
		by     client
		method string
		path   string
		body   string
		header []string
		status int
		code   string
	}{
		"a body that is not JSON":             {by: user, method: "POST", path: buy(open), body: "{", status: 400, code: "bad_request"},
		"an unknown field":                    {by: user, method: "POST", path: buy(open), body: `{"user_id":"7"}`, status: 400, code: "bad_request"},
		"an id that is none":                  {by: user, method: "GET", path: orders + "/x", status: 400, code: "bad_request"},
		"an Idempotency-Key that is too long": {by: user, method: "POST", path: buy(open), header: []string{"Idempotency-Key", strings.Repeat("k", 256)}, status: 400, code: "bad_request"},
		"no token":                            {by: nobody, method: "POST", path: buy(open), status: 401, code: "unauthenticated"},
		"a bad token":                         {by: nobody, method: "POST", path: buy(open), header: []string{"Authorization", "Bearer x.y.z"}, status: 401, code: "unauthenticated"},
		"a user where an admin must be":       {by: user, method: "POST", path: "/api/v1/admin/coupons/" + open + "/publication", status: 403, code: "forbidden"},
		"before the window":                   {by: user, method: "POST", path: buy(early), status: 403, code: "not_started"},
		"an unknown coupon":                   {by: user, method: "POST", path: buy("999999"), status: 404, code: "not_found"},
		"an unknown order":                    {by: user, method: "GET", path: orders + "/999999", status: 404, code: "not_found"},
		"somebody else's order":               {by: stranger, method: "GET", path: orders + "/" + order.ID, status: 404, code: "not_found"},
		"paying somebody else's order":        {by: stranger, method: "POST", path: orders + "/" + order.ID + "/payment", status: 404, code: "not_found"},
		"an unknown route":                    {by: user, method: "GET", path: "/api/v1/nothing", status: 404, code: "not_found"},
		"a session without the demo login":    {by: nobody, method: "POST", path: "/api/v1/sessions", body: `{"user_id":"1"}`, status: 404, code: "not_found"},
		"a method that the route has not":     {by: user, method: "PUT", path: buy(open), status: 405, code: "method_not_allowed"},
		"a body that is too large":            {by: user, method: "POST", path: buy(open), body: "{" + strings.Repeat(" ", 5000) + "}", status: 413, code: "too_large"},
		"a body that does not say JSON":       {by: user, method: "POST", path: buy(open), body: "{}", header: []string{"Content-Type", "text/plain"}, status: 415, code: "unsupported_media_type"},
		"sold out":                            {by: stranger, method: "POST", path: buy(small), status: 409, code: "sold_out"},
		"one more than the limit":             {by: user, method: "POST", path: buy(open), status: 409, code: "limit_reached"},
		"the user's lock is held":             {by: i.as(t, held), method: "POST", path: buy(open), status: 409, code: "request_in_progress"},
		"paying a cancelled order":            {by: i.as(t, 103), method: "POST", path: orders + "/" + cancelled.ID + "/payment", status: 409, code: "conflict"},
		"pausing a draft":                     {by: admin, method: "DELETE", path: "/api/v1/admin/coupons/" + draft + "/publication", status: 409, code: "conflict"},
		"publishing what has ended":           {by: admin, method: "POST", path: "/api/v1/admin/coupons/" + over + "/publication", status: 409, code: "conflict"},
		"a sale that was ended":               {by: user, method: "POST", path: buy(over), status: 410, code: "ended"},
		"after the window":                    {by: user, method: "POST", path: buy(late), status: 410, code: "ended"},
		"a key of another request":            {by: user, method: "POST", path: buy(small), header: []string{"Idempotency-Key", "first"}, status: 422, code: "idempotency_key_reused"},
		"a draft":                             {by: user, method: "POST", path: buy(draft), status: 404, code: "not_found"},
		"a sale that is paused":               {by: user, method: "POST", path: buy(paused), status: 503, code: "sale_paused"},
	} {
		t.Run(name, func(t *testing.T) {
			r := c.by.do(c.method, c.path, c.body, c.header...)
			r.isProblem(t, c.status, c.code)
			if c.status == http.StatusMethodNotAllowed {
				assert.Equal(t, "POST", r.header.Get("Allow"))
			}
			if c.status == http.StatusUnauthorized {
				assert.Contains(t, r.header.Get("WWW-Authenticate"), "Bearer")
			}
		})
	}
	t.Run("shards without their counters", func(t *testing.T) {
		r := reply{status: http.StatusCreated}
		for buyer := int64(200); r.status == http.StatusCreated && buyer < 205; buyer++ { // they may have been loaded again just then
			require.NoError(t, s.redis.Del(t.Context(), stockKeys...).Err())
			r = i.as(t, buyer).buy(gone, "")
		}
		r.isProblem(t, http.StatusServiceUnavailable, "stock_loading")
	})
	unknown, others := stranger.order("999999"), stranger.order(order.ID)
	assert.Equal(t, unknown.body, others.body, "an unknown order, and somebody else's")
	require.NoError(t, s.redis.Del(t.Context(), "seckill:{lock:0}:user:"+strconv.Itoa(held)).Err())
	i.as(t, held).buy(open, "").sold(t, http.StatusCreated)
	s.auditedTwice(t, i, open)
}

func TestRateLimit_OneUserAboveRate_OthersServed(t *testing.T) {
	t.Parallel()
	s := newShop(t, "SECKILL_RATE_LIMIT__PER_USER=1", "SECKILL_RATE_LIMIT__BURST=1")
	i := s.instance(t)
	c := i.as(t, 7)
	limited := 0
	for range 10 { // a slow machine may let a second pass between two
		if r := c.do(http.MethodGet, orders, ""); r.status == http.StatusTooManyRequests {
			r.isProblem(t, http.StatusTooManyRequests, "rate_limited")
			limited++
		}
	}
	assert.GreaterOrEqual(t, limited, 5)
	assert.Equal(t, http.StatusOK, i.as(t, 8).do(http.MethodGet, orders, "").status)
}

func TestRequests_StoreDown_AreUnavailableUntilItReturns(t *testing.T) {
	testservers.OneOf(t, 2)
	t.Parallel()
	server, db := testservers.NewRedis(t), testservers.NewMariaDB(t)
	name, err := db.CreateDatabase(t.Context())
	require.NoError(t, err)
	s := shop{redis: redis.NewClient(&redis.Options{Addr: server.Addr()})}
	t.Cleanup(func() { _ = s.redis.Close() })
	dsn := strings.NewReplacer("timeout=2s", "timeout=500ms", "readTimeout=5s", "readTimeout=1s", "writeTimeout=5s", "writeTimeout=1s").Replace(db.DSN(name))
	s = s.with(impatient()...).with("SECKILL_REDIS__ADDRS="+server.Addr()).migrated(t, dsn)
	i := s.instance(t)
	narrow := s.instance(t, "SECKILL_HTTP__MAX_IN_FLIGHT=1")
	id := i.sale(t, 100, 1)
	i.as(t, 1).buy(id, "").sold(t, http.StatusCreated)
	narrow.as(t, 2).buy(id, "").sold(t, http.StatusCreated) // the coupon is in its cache now

	type store interface {
		Pause() error
		Resume() error
	}
	user := int64(10)
	for name, away := range map[string]store{"Redis": server, "the database": db} {
		t.Run(name+" does not answer", func(t *testing.T) {
			user++
			c := i.as(t, user)
			require.NoError(t, away.Pause())
			asked := time.Now()
			r := c.buy(id, "again")
			took := time.Since(asked)
			ready := httpStatus(t, i.admin+"/readyz")
			require.NoError(t, away.Resume())
			if r.status != http.StatusAccepted { // the database went in mid-commit
				r.isProblem(t, http.StatusServiceUnavailable, "unavailable")
			}
			assert.Less(t, took, 6*time.Second, "twice the budget of a request")
			assert.Equal(t, http.StatusServiceUnavailable, ready)
			within(t, 10*time.Second, func() error {
				if r := c.buy(id, fmt.Sprint("after ", time.Now().UnixNano())); r.status != http.StatusCreated && r.code() != "limit_reached" {
					return fmt.Errorf("%d %s", r.status, r.body)
				}
				return nil
			})
			within(t, 5*time.Second, func() error {
				if got := httpStatus(t, i.admin+"/readyz"); got != http.StatusOK {
					return fmt.Errorf("readyz is %d", got)
				}
				return nil
			})
		})
	}
	t.Run("one request more than it takes at once is shed", func(t *testing.T) {
		require.NoError(t, db.Pause())
		stop, stopped := make(chan struct{}), make(chan struct{})
		slow := narrow.as(t, 30)
		go func() {
			defer close(stopped)
			for {
				_, _ = slow.try(http.MethodPost, "/api/v1/coupons/"+id+"/orders", "") // takes as long as it may
				select {
				case <-stop:
					return
				default:
				}
			}
		}()
		c := narrow.as(t, 31)
		var shed reply
		within(t, 5*time.Second, func() error {
			if shed = c.do(http.MethodGet, "/api/v1/coupons/x", ""); shed.code() != "overloaded" {
				return fmt.Errorf("%d %s", shed.status, shed.body)
			}
			return nil
		})
		shed.isProblem(t, http.StatusServiceUnavailable, "overloaded")
		require.NoError(t, db.Resume())
		close(stop)
		<-stopped
	})
	s.auditedTwice(t, i, id)
}

func TestRequests_RedisDown_FailWithin200Milliseconds(t *testing.T) {
	server := testservers.NewRedis(t)
	s := shop{}.with("SECKILL_REDIS__ADDRS=" + server.Addr()).on(migratedDSN(t))
	i := s.instance(t)
	id := i.sale(t, 100, 1)
	c := i.as(t, 5)
	i.as(t, 4).buy(id, "").sold(t, http.StatusCreated)
	require.NoError(t, server.Kill())
	asked := time.Now()
	r := c.buy(id, "")
	took := time.Since(asked)
	r.isProblem(t, http.StatusServiceUnavailable, "unavailable")
	assert.Less(t, took, 200*time.Millisecond)

	// It comes back empty: not loaded, until it is mended from the database.
	require.NoError(t, server.Restart(t.Context()))
	within(t, 5*time.Second, func() error {
		if r := c.buy(id, ""); r.code() != "stock_loading" {
			return fmt.Errorf("%d %s", r.status, r.body)
		}
		return nil
	})
	repaired := i.asAdmin(t).do(http.MethodPost, "/api/v1/admin/coupons/"+id+"/repair", "")
	assert.Equal(t, http.StatusOK, repaired.status, repaired.body)
	c.buy(id, "").sold(t, http.StatusCreated)
	i.as(t, 4).buy(id, "").isProblem(t, http.StatusConflict, "limit_reached")
	assert.Equal(t, 2, s.auditedTwice(t, i, id).Live)
}

func httpStatus(t testing.TB, url string) int {
	t.Helper()
	c := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := c.Get(url)
	require.NoError(t, err)
	_ = resp.Body.Close()
	return resp.StatusCode
}
