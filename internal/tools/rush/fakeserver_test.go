package rush

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fakeServer plays the server's side of the contract, over real HTTP. It is honest and
// quick; what a test needs it to do wrong is put into its fields before it opens.
type fakeServer struct {
	url string

	mu     sync.Mutex
	total  int
	stock  int
	limit  int
	nextID int
	orders map[string]*sold
	byKey  map[string]*sold
	live   map[string]int // by user
	tries  map[string]int // by key, or by user without one
	hosts  map[string]bool
	peak   int // most requests for an order inside at once
	inside int

	// buy, if set, answers an attempt instead of the honest way, and says
	// whether it did. try counts from 1.
	buy func(w http.ResponseWriter, user, key string, try int) bool
	// show, if set, does the same for GET of an order.
	show func(w http.ResponseWriter, o sold) bool
	// report, if set, changes the audit before it is given out; n counts from 1.
	report  func(in *auditReport, n int)
	reports int
}

type sold struct {
	ID       string    `json:"id"`
	CouponID string    `json:"coupon_id"`
	UserID   string    `json:"user_id"`
	Status   string    `json:"status"`
	Expires  time.Time `json:"expires_at"`
}

func open(t *testing.T, s *fakeServer) *fakeServer {
	t.Helper()
	s.total, s.orders, s.byKey = s.stock, map[string]*sold{}, map[string]*sold{}
	s.live, s.tries = map[string]int{}, map[string]int{}
	s.hosts = map[string]bool{}
	if s.limit == 0 {
		s.limit = 1
	}
	server := httptest.NewServer(s.routes())
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func (s *fakeServer) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/coupons/1", func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		reply(w, 200, map[string]any{"id": "1", "stock": s.total, "left": s.stock, "limit_per_user": s.limit})
	})
	mux.HandleFunc("POST /api/v1/coupons/1/orders", s.serveBuy)
	mux.HandleFunc("GET /api/v1/orders/{id}", s.owned(func(w http.ResponseWriter, o *sold) {
		if s.show == nil || !s.show(w, *o) {
			reply(w, 200, o)
		}
	}))
	mux.HandleFunc("POST /api/v1/orders/{id}/payment", s.owned(func(w http.ResponseWriter, o *sold) {
		o.Status = "paid"
		reply(w, 200, o)
	}))
	mux.HandleFunc("POST /api/v1/orders/{id}/cancellation", s.owned(func(w http.ResponseWriter, o *sold) {
		o.Status = "cancelled"
		s.stock++
		s.live[o.UserID]--
		reply(w, 200, o)
	}))
	mux.HandleFunc("GET /api/v1/admin/coupons/1/audit", s.serveAudit)
	return mux
}

func (s *fakeServer) serveBuy(w http.ResponseWriter, r *http.Request) {
	user, ok := userOf(r)
	if !ok {
		refuse(w, 401, "unauthenticated", "")
		return
	}
	key := r.Header.Get("Idempotency-Key")
	s.mu.Lock()
	s.inside++
	s.peak = max(s.peak, s.inside)
	name := key
	if name == "" {
		name = user
	}
	s.tries[name]++
	try := s.tries[name]
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.inside--
	}()
	if s.buy != nil && s.buy(w, user, key, try) {
		return
	}
	o, code := s.sell(user, key)
	if code != "" {
		refuse(w, 409, code, "")
		return
	}
	w.Header().Set("Location", "/api/v1/orders/"+o.ID)
	reply(w, 201, o)
}

// sell is the honest way to an order.
func (s *fakeServer) sell(user, key string) (sold, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.byKey[key]; key != "" && o != nil {
		return *o, ""
	}
	switch {
	case s.live[user] >= s.limit:
		return sold{}, "limit_reached"
	case s.stock == 0:
		return sold{}, "sold_out"
	}
	s.stock--
	s.live[user]++
	s.nextID++
	o := &sold{strconv.Itoa(1000 + s.nextID), "1", user, "pending", time.Now().Add(15 * time.Minute).UTC()}
	s.orders[o.ID] = o
	if key != "" {
		s.byKey[key] = o
	}
	return *o, ""
}

func (s *fakeServer) owned(answer func(http.ResponseWriter, *sold)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		user, _ := userOf(r)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.hosts[r.Host] = true
		o := s.orders[r.PathValue("id")]
		if o == nil || o.UserID != user {
			refuse(w, 404, "not_found", "")
			return
		}
		answer(w, o)
	}
}

func (s *fakeServer) serveAudit(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") == "Bearer forged" {
		refuse(w, 401, "unauthenticated", "")
		return
	}
	if r.Header.Get("Authorization") != "Bearer admin" {
		refuse(w, 403, "forbidden", "")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	in := auditReport{Clean: true, Settled: true, Total: s.total, Stock: s.stock, Redis: s.stock, Orders: len(s.orders)}
	s.reports++
	if s.report != nil {
		s.report(&in, s.reports)
	}
	reply(w, 200, in)
}

func userOf(r *http.Request) (string, bool) {
	return strings.CutPrefix(r.Header.Get("Authorization"), "Bearer user-")
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func refuse(w http.ResponseWriter, status int, code, retryAfter string) {
	if retryAfter != "" {
		w.Header().Set("Retry-After", retryAfter)
	}
	reply(w, status, map[string]any{"status": status, "code": code})
}

// hangUp closes the connection without an answer.
func hangUp(w http.ResponseWriter) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		_ = conn.Close()
	}
}

func plainToken(_ context.Context, user int64) (string, error) {
	return fmt.Sprintf("user-%d", user), nil
}

// rush runs the generator against the shop, with a judge's rights.
func (s *fakeServer) rush(t *testing.T, o Options) Report {
	t.Helper()
	o.URL, o.Token, o.AdminToken = s.url, plainToken, "admin"
	rep, err := Run(t.Context(), o)
	require.NoError(t, err)
	require.Equal(t, rep.Asked, rep.Accepted+sum(rep.Refused)+rep.Failed, "every tap has one outcome")
	return rep
}
