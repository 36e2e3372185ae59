package e2e_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/api/auth"
)

// secret signs the tokens of every shop.
const secret = "a secret of the tests, long enough to be taken"

func token(t testing.TB, user int64, role string) string {
	t.Helper()
	signer, err := auth.NewTokens([]byte(secret), time.Hour)
	require.NoError(t, err)
	text, _, err := signer.Sign(user, role, 0)
	require.NoError(t, err)
	return text
}

// client asks one instance as one user; user 0 has no token.
type client struct {
	t     testing.TB
	url   string
	token string
	http  *http.Client
}

// as is a client of the instance. Its connections end with the test.
func (i *instance) as(t testing.TB, user int64) client {
	t.Helper()
	c := client{t: t, url: i.url}
	if user > 0 {
		c.token = token(t, user, auth.RoleUser)
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(transport.CloseIdleConnections)
	c.http = &http.Client{Transport: transport, Timeout: 40 * time.Second}
	return c
}

func (i *instance) asAdmin(t testing.TB) client {
	t.Helper()
	c := i.as(t, 0)
	c.token = token(t, 1, auth.RoleAdmin)
	return c
}

// reply is one answer.
type reply struct {
	status int
	header http.Header
	body   string
}

// try makes one request; headers are name, value, name, value.
func (c client) try(method, path, body string, headers ...string) (reply, error) {
	req, err := http.NewRequest(method, c.url+path, strings.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for n := 0; n+1 < len(headers); n += 2 {
		req.Header.Set(headers[n], headers[n+1])
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, string(text)}, err
}

func (c client) do(method, path, body string, headers ...string) reply {
	c.t.Helper()
	r, err := c.try(method, path, body, headers...)
	require.NoError(c.t, err)
	return r
}

// buy asks for one unit; a key of "" is none.
func (c client) buy(coupon, key string) reply {
	c.t.Helper()
	if key == "" {
		return c.do(http.MethodPost, "/api/v1/coupons/"+coupon+"/orders", "")
	}
	return c.do(http.MethodPost, "/api/v1/coupons/"+coupon+"/orders", "", "Idempotency-Key", key)
}

// buyInTheEnd asks for one unit, as often as the server says that it is worth asking again, and
// returns the order. The key is the same until its request was given up.
func (c client) buyInTheEnd(coupon string) orderJSON {
	c.t.Helper()
	var last reply
	key := 1
	within(c.t, 30*time.Second, func() error {
		last = c.buy(coupon, fmt.Sprintf("in-the-end-%s-%d", coupon, key))
		if last.code() == "given_up" {
			key++
		}
		if last.code() == "given_up" || last.header.Get("Retry-After") != "" {
			return fmt.Errorf("%d %s", last.status, last.body)
		}
		return nil
	})
	return last.sold(c.t, http.StatusCreated)
}

func (c client) order(id string) reply {
	c.t.Helper()
	return c.do(http.MethodGet, "/api/v1/orders/"+id, "")
}

func (c client) pay(id string) reply {
	c.t.Helper()
	return c.do(http.MethodPost, "/api/v1/orders/"+id+"/payment", "")
}

func (c client) cancel(id string) reply {
	c.t.Helper()
	return c.do(http.MethodPost, "/api/v1/orders/"+id+"/cancellation", "")
}

// code is the problem's code, or "" for an answer that is no problem.
func (r reply) code() string {
	var p struct {
		Code string `json:"code"`
	}
	_ = json.Unmarshal([]byte(r.body), &p)
	return p.Code
}

// isProblem holds the answer against the contract's form of an error.
func (r reply) isProblem(t testing.TB, status int, code string) {
	t.Helper()
	var p struct {
		Type   string `json:"type"`
		Title  string `json:"title"`
		Code   string `json:"code"`
		Status int    `json:"status"`
	}
	if err := json.Unmarshal([]byte(r.body), &p); err != nil {
		t.Errorf("%d %q is no problem: %v", r.status, r.body, err)
		return
	}
	assert.Equal(t, status, r.status, r.body)
	assert.Equal(t, code, p.Code, r.body)
	assert.Equal(t, status, p.Status)
	assert.NotEmpty(t, p.Title)
	assert.NotEmpty(t, p.Type)
	assert.Equal(t, "application/problem+json", r.header.Get("Content-Type"))
	again := code == "request_in_progress" || status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable
	if after := r.header.Get("Retry-After"); again {
		n, err := strconv.Atoi(after)
		assert.NoError(t, err, "Retry-After of %s", code)
		assert.Positive(t, n)
	} else {
		assert.Empty(t, after, "Retry-After of %s", code)
	}
}

// orderJSON is an order as a client sees it.
type orderJSON struct {
	ID        string    `json:"id"`
	CouponID  string    `json:"coupon_id"`
	UserID    string    `json:"user_id"`
	Status    string    `json:"status"`
	ExpiresAt time.Time `json:"expires_at"`
	RequestID string    `json:"request_id"`
}

// sold reads the order out of an answer with this status.
func (r reply) sold(t testing.TB, status int) orderJSON {
	t.Helper()
	require.Equal(t, status, r.status, r.body)
	var o orderJSON
	require.NoError(t, json.Unmarshal([]byte(r.body), &o), r.body)
	require.NotEmpty(t, o.ID)
	return o
}

func itoa(n int) string { return strconv.Itoa(n) }
