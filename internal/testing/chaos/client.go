package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// answerTimeout is what a client waits for one answer: longer than an instance is
// stopped for.
const answerTimeout = 5 * time.Second

// client speaks HTTP to the fleet, and knows no more of it than the contract says.
type client struct {
	env  *environment
	http *http.Client
}

func newClient(b *environment) *client {
	return &client{env: b, http: &http.Client{
		Timeout:   answerTimeout,
		Transport: &http.Transport{MaxIdleConnsPerHost: 64, IdleConnTimeout: 10 * time.Second},
	}}
}

// orderJSON is the part of an order that is compared.
type orderJSON struct {
	ID        string    `json:"id"`
	CouponID  string    `json:"coupon_id"`
	UserID    string    `json:"user_id"`
	Status    string    `json:"status"`
	CreatedAt time.Time `json:"created_at"`
	ExpiresAt time.Time `json:"expires_at"`
}

// answer is what came back; status 0 is no answer.
type answer struct {
	status int
	code   string // of a problem
	detail string // of a problem
	place  string // Location
	order  orderJSON
	body   []byte
	asked  time.Time
	from   string // the URL of the instance
}

// open reports whether the order of an answer is not decided yet.
func (a answer) open() bool { return a.order.Status == "in_doubt" || a.order.Status == "queued" }

// again reports whether the same request may lead to something else in a moment.
func (a answer) again() bool {
	switch a.code {
	case "request_in_progress", "overloaded", "rate_limited", "unavailable", "sale_paused", "stock_loading":
		return true
	}
	return a.status == 0 || a.status >= 500
}

// ask sends one request to one instance.
func (c *client) ask(ctx context.Context, url, method, path, token, key, body string) answer {
	req, err := http.NewRequestWithContext(ctx, method, url+path, strings.NewReader(body))
	if err != nil {
		return answer{from: url}
	}
	req.Header.Set("Authorization", "Bearer "+token)
	switch {
	case key != "" && c.env.tokens:
		req.Header.Set("Purchase-Token", key)
	case key != "":
		req.Header.Set("Idempotency-Key", key)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	asked := time.Now()
	resp, err := c.http.Do(req)
	if err != nil {
		return answer{from: url}
	}
	defer func() { _ = resp.Body.Close() }()
	a := answer{status: resp.StatusCode, place: resp.Header.Get("Location"), asked: asked, from: url}
	if a.body, err = io.ReadAll(resp.Body); err != nil {
		return answer{from: url}
	}
	if a.status >= http.StatusBadRequest {
		var p struct {
			Code   string `json:"code"`
			Detail string `json:"detail"`
		}
		_ = json.Unmarshal(a.body, &p) // an answer without a code is judged by its status
		a.code, a.detail = currentWord(p.Code), p.Detail
		return a
	}
	_ = json.Unmarshal(a.body, &a.order) // an answer without an order is held against the server
	a.order.Status = currentWord(a.order.Status)
	return a
}

// admin asks as the administrator until there is an answer of the status, from
// whichever instance.
func (c *client) admin(ctx context.Context, method, path, body string, want int, into any) error {
	token := c.token(1, "admin")
	var last answer
	for try := range 200 {
		if try > 0 && !sleep(ctx, 25*time.Millisecond) {
			break
		}
		if last = c.ask(ctx, c.env.pick(), method, path, token, "", body); last.status != want {
			continue
		}
		if into == nil {
			return nil
		}
		if err := json.Unmarshal(last.body, into); err != nil {
			return fmt.Errorf("%s %s: %w", method, path, err)
		}
		return nil
	}
	return fmt.Errorf("%s %s: answered %d: %s", method, path, last.status, last.body)
}

// token signs a bearer token with the fleet's secret.
func (c *client) token(user int64, role string) string {
	now := time.Now()
	text, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
		"sub": strconv.FormatInt(user, 10), "role": role, "iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
	}).SignedString([]byte(c.env.secret))
	if err != nil {
		panic(err) // the secret is ours
	}
	return text
}

// sleep is false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
