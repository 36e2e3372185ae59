package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/api/auth"
	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/order"
)

const place = "/api/v1/coupons/1/orders"

func TestProblems_EveryDomainError_HasAnAnswer(t *testing.T) {
	secret := errors.New("dial tcp 10.0.0.7:3306: SELECT secret FROM orders")
	for name, tc := range map[string]struct {
		err    error
		status int
		code   string
		retry  string
		detail string
	}{
		"an unknown coupon":          {fmt.Errorf("find: %w", coupon.ErrNotFound), 404, "not_found", "", "There is no such thing, or it is not yours."},
		"an unknown order":           {order.ErrNotFound, 404, "not_found", "", "There is no such thing, or it is not yours."},
		"before the window":          {coupon.ErrNotStarted, 403, "not_started", "", ""},
		"after the window":           {coupon.ErrEnded, 410, "ended", "", ""},
		"a sale that is paused":      {coupon.ErrPaused, 503, "sale_paused", "1", ""},
		"stock that is not loaded":   {coupon.ErrNotLoaded, 503, "stock_loading", "1", ""},
		"sold out":                   {fmt.Errorf("%w: %w", coupon.ErrSoldOut, secret), 409, "sold_out", "", "No unit is left."},
		"the limit per user":         {order.ErrLimitReached, 409, "limit_reached", "", ""},
		"a unit given back lately":   {&order.CooldownError{Remaining: 90*time.Second - time.Millisecond}, 409, "cooldown", "90", ""},
		"another open request":       {fmt.Errorf("%w: %w", order.ErrBusy, lock.ErrNotAcquired), 409, "request_in_progress", "1", ""},
		"busy until the time is up":  {fmt.Errorf("%w: %w", order.ErrBusy, context.DeadlineExceeded), 409, "request_in_progress", "1", ""},
		"an order's state":           {fmt.Errorf("%w: it is paid", order.ErrConflict), 409, "conflict", "", "it is paid"},
		"a coupon's state":           {fmt.Errorf("change: %w", fmt.Errorf("%w: it has ended", coupon.ErrConflict)), 409, "conflict", "", "it has ended"},
		"a state with a store in it": {fmt.Errorf("%w: %w", order.ErrConflict, secret), 409, "conflict", "", "The order's state forbids that."},
		"an invalid coupon":          {fmt.Errorf("10.0.0.7: %w", fmt.Errorf("%w: stock must be from 1 to 3", coupon.ErrInvalid)), 400, "bad_request", "", "stock must be from 1 to 3"},
		"a key of another request":   {order.ErrKeyReused, 422, "idempotency_key_reused", "", ""},
		"a purchase token too late":  {order.ErrPermitExpired, 403, "purchase_token_expired", "", ""},
		"one of another sale":        {order.ErrOtherSale, 403, "purchase_token_invalid", "", ""},
		"a request that was abandoned": {
			fmt.Errorf("%w: %w", order.ErrVoided, order.ErrCommitUnknown), 409, "conflict", "",
			"The request was abandoned; ask again with a new Idempotency-Key or Purchase-Token.",
		},
		"a store that is away":             {fmt.Errorf("%w: %w", order.ErrUnavailable, secret), 503, "unavailable", "1", ""},
		"a stock that was loaded anew":     {order.ErrStaleEpoch, 503, "unavailable", "1", ""},
		"a time that is up":                {fmt.Errorf("query: %w", context.DeadlineExceeded), 503, "unavailable", "1", ""},
		"work that was broken off":         {context.Canceled, 503, "unavailable", "1", ""},
		"an error that nobody thought of":  {secret, 500, "internal", "", ""},
		"a fence that should not get here": {order.ErrStaleFence, 500, "internal", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			sh := newShop()
			refused := 0
			s := sh.serve(t, Options{ObserveUnavailable: func(_ context.Context, route string, err error) {
				require.Equal(t, "/api/v1/coupons/:id/orders", route)
				require.ErrorIs(t, err, tc.err)
				refused++
			}})
			sh.say = func(context.Context) error { return tc.err }
			rec := do(t, s, ask{method: "POST", path: place, token: sign(t, s, 42, auth.RoleUser)})
			require.Equal(t, tc.status, rec.Code)
			require.Equal(t, tc.code, codeOf(t, rec))
			require.Equal(t, tc.retry, rec.Header().Get("Retry-After"))
			require.Equal(t, name == "a store that is away" || name == "a time that is up", refused == 1, "refused because of a store")
			if tc.detail != "" {
				require.Equal(t, tc.detail, detailOf(t, rec))
			}
			for _, inside := range []string{"10.0.0.7", "SELECT", "order:", "coupon:", "lock:"} {
				require.NotContains(t, rec.Body.String(), inside, "the client sees nothing of the inside")
			}
		})
	}
}

func TestOrder_InDoubt_ShowsFutureOrder(t *testing.T) {
	sh := newShop()
	s := sh.serve(t, Options{})
	sh.doubt = true
	// The database's error is wrapped too, and must not turn the response into a plain 503.
	sh.say = func(context.Context) error { return fmt.Errorf("%w: %w", order.ErrCommitUnknown, order.ErrUnavailable) }
	rec := do(t, s, ask{method: "POST", path: place, token: sign(t, s, 42, auth.RoleUser)})
	require.Equal(t, 202, rec.Code)
	require.Equal(t, "/api/v1/orders/1001", rec.Header().Get("Location"))
	require.Equal(t, "1", rec.Header().Get("Retry-After"))
	require.Contains(t, rec.Body.String(), `"id":"1001"`)
	require.Contains(t, rec.Body.String(), `"status":"in_doubt"`)
}

func TestPayment_CommitUnknown_CanBeRepeated(t *testing.T) {
	sh := newShop()
	s := sh.serve(t, Options{})
	sh.say = func(context.Context) error { return fmt.Errorf("%w: %w", order.ErrUnavailable, order.ErrCommitUnknown) }
	rec := do(t, s, ask{method: "POST", path: "/api/v1/orders/7/payment", token: sign(t, s, 42, auth.RoleUser)})
	require.Equal(t, 503, rec.Code)
	require.Equal(t, "unavailable", codeOf(t, rec))
}

func TestInternalError_Response_HasIDOfTheLogLine(t *testing.T) {
	for name, say := range map[string]func(context.Context) error{
		"an error": func(context.Context) error { return errors.New("the disk is on fire") },
		"a panic":  func(context.Context) error { panic("the disk is on fire") },
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			sh := newShop()
			s := sh.serve(t, Options{Log: slog.New(slog.NewJSONHandler(&log, nil))})
			sh.say = say
			rec := do(t, s, ask{method: "GET", path: "/api/v1/coupons/1"})
			require.Equal(t, 500, rec.Code)
			var p problemJSON
			require.NoError(t, jsonInto(rec, &p))
			require.Equal(t, problemJSON{
				Type: "urn:seckill:problem:internal", Title: "Internal Server Error", Status: 500, Code: "internal", ID: p.ID,
			}, p)
			require.Len(t, p.ID, 16)
			require.Contains(t, log.String(), p.ID)
			require.Contains(t, log.String(), "the disk is on fire")
			require.Zero(t, s.inFlight.Load(), "it has left")
		})
	}
}

func TestHandler_ClientLeft_WritesNothing(t *testing.T) {
	var seen []string
	sh := newShop()
	s := sh.serve(t, Options{Observe: func(_, _ string, status int, code string, _ time.Duration) {
		seen = append(seen, fmt.Sprint(status, code))
	}})
	ctx, leave := context.WithCancel(t.Context())
	sh.say = func(ctx context.Context) error {
		leave()
		<-ctx.Done()
		return ctx.Err()
	}
	rec := httptest.NewRecorder()
	s.Handler().ServeHTTP(rec, httptest.NewRequestWithContext(ctx, "GET", "/api/v1/coupons/1", nil))
	require.Empty(t, rec.Body.String())
	require.Equal(t, []string{"499client_gone"}, seen)
}

func TestHandler_Budget_EndsContext(t *testing.T) {
	sh := newShop()
	s := sh.serve(t, Options{RequestTimeout: 20 * time.Millisecond})
	sh.say = func(ctx context.Context) error {
		<-ctx.Done()
		return fmt.Errorf("read: %w", ctx.Err())
	}
	rec := do(t, s, ask{method: "GET", path: "/api/v1/coupons/1"})
	require.Equal(t, 503, rec.Code)
	require.Equal(t, "unavailable", codeOf(t, rec))
}

func TestOrderRoutes_OtherUsersOrder_AnswerAsMissing(t *testing.T) {
	sh := newShop()
	s := sh.serve(t, Options{})
	mine, theirs := sign(t, s, 1, auth.RoleUser), sign(t, s, 2, auth.RoleUser)
	require.Equal(t, 201, do(t, s, ask{method: "POST", path: place, token: theirs}).Code)
	for _, route := range []struct{ method, path string }{
		{"GET", "/api/v1/orders/%s"}, {"POST", "/api/v1/orders/%s/payment"}, {"POST", "/api/v1/orders/%s/cancellation"},
	} {
		somebodys := do(t, s, ask{method: route.method, path: fmt.Sprintf(route.path, "1001"), token: mine})
		nobodys := do(t, s, ask{method: route.method, path: fmt.Sprintf(route.path, "999"), token: mine})
		require.Equal(t, 404, somebodys.Code)
		require.Equal(t, nobodys.Body.Bytes(), somebodys.Body.Bytes())
		require.Equal(t, nobodys.Header(), somebodys.Header())
	}
}

func TestRoutes_UnknownPathOrMethod_IsRefused(t *testing.T) {
	s := newShop().serve(t, Options{})
	for _, path := range []string{"/nothing", "/api/v1", "/api/v1/coupons/", "/api/v1/coupons/1/", "/api/v1/Coupons", "/api/v1//coupons", "/healthz", "/metrics", "/debug/pprof/"} {
		rec := do(t, s, ask{method: "GET", path: path})
		require.Equal(t, 404, rec.Code, path)
		require.Equal(t, "not_found", codeOf(t, rec))
	}
	for path, allow := range map[string]string{
		"/api/v1/coupons/1":                   "GET, HEAD",
		place:                                 "POST",
		"/api/v1/admin/coupons/1/publication": "DELETE, POST",
		"/":                                   "GET, HEAD",
	} {
		rec := do(t, s, ask{method: "PUT", path: path})
		require.Equal(t, 405, rec.Code, path)
		require.Equal(t, "method_not_allowed", codeOf(t, rec))
		require.Equal(t, allow, sorted(rec.Header().Get("Allow")))

		rec = do(t, s, ask{method: "OPTIONS", path: path})
		require.Equal(t, 204, rec.Code, path)
		require.Empty(t, rec.Body.String())
		require.Contains(t, rec.Header().Get("Allow"), "OPTIONS")
	}
}

func TestRoutes_HEAD_IsGETWithoutBody(t *testing.T) {
	server := httptest.NewServer(newShop().serve(t, Options{}).Handler())
	defer server.Close()
	for _, path := range []string{"/", "/openapi.json", "/api/v1/coupons", "/api/v1/coupons/1", "/api/v1/coupons/1/live"} {
		resp, err := server.Client().Head(server.URL + path)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, http.StatusOK, resp.StatusCode, path)
		require.NotEmpty(t, resp.Header.Get("Content-Type"), path)
	}
}

func sorted(list string) string {
	words := strings.Split(list, ", ")
	if len(words) == 2 && words[0] > words[1] {
		words[0], words[1] = words[1], words[0]
	}
	return strings.Join(words, ", ")
}
