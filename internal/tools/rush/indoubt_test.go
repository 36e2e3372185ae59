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

// queuing answers 202 and lets the order appear only after some polls.
func queuing(s *fakeServer, polls int32, end func(w http.ResponseWriter, o sold) bool) {
	var asked atomic.Int32
	s.buy = func(w http.ResponseWriter, user, key string, _ int) bool {
		o, code := s.sell(user, key)
		if code != "" {
			refuse(w, 409, code, "")
			return true
		}
		// A whole address of another host: only its path may be used.
		w.Header().Set("Location", "http://elsewhere.invalid/api/v1/orders/"+o.ID)
		reply(w, 202, map[string]any{"status": "queued"})
		return true
	}
	s.show = func(w http.ResponseWriter, o sold) bool {
		if asked.Add(1) <= polls {
			reply(w, 202, map[string]any{"status": "queued"})
			return true
		}
		return end != nil && end(w, o)
	}
}

func TestInDoubt_202_IsPolledUntilOrder(t *testing.T) {
	for name, netHTTP := range map[string]bool{"on the light path": false, "through net/http": true} {
		t.Run(name, func(t *testing.T) {
			s := open(t, &fakeServer{stock: 5})
			queuing(s, 7, nil)
			rep := s.rush(t, Options{Users: 8, netHTTP: netHTTP})
			require.Equal(t, 5, rep.Queued)
			require.Equal(t, 5, rep.Accepted)
			require.Equal(t, map[string]int{"sold_out": 3}, rep.Refused)
			require.True(t, rep.Clean(), rep.Violations)
			require.Equal(t, map[string]bool{strings.TrimPrefix(s.url, "http://"): true}, s.hosts,
				"nobody was asked but the server we know")
		})
	}
}

// Whoever is told to come back in two seconds does not come before: the bench and the
// program's own crowd are clients as the contract wants them.
func TestRush_202WithRetryAfter_PollsAfterDelay(t *testing.T) {
	s := open(t, &fakeServer{stock: 1})
	queuing(s, 0, nil)
	var queued, asked time.Time
	buy, show := s.buy, s.show
	s.buy = func(w http.ResponseWriter, user, key string, nth int) bool {
		w.Header().Set("Retry-After", "2")
		queued = time.Now()
		return buy(w, user, key, nth)
	}
	s.show = func(w http.ResponseWriter, o sold) bool {
		if asked.IsZero() {
			asked = time.Now()
		}
		return show(w, o)
	}
	require.Equal(t, 1, s.rush(t, Options{Users: 1}).Accepted)
	require.GreaterOrEqual(t, asked.Sub(queued), 2*time.Second)
}

func TestInDoubt_202ThenRefusal_IsARefusal(t *testing.T) {
	for name, tc := range map[string]struct {
		end  func(w http.ResponseWriter, o sold) bool
		code string
	}{
		"because the order is void": {func(w http.ResponseWriter, o sold) bool {
			o.Status = "abandoned"
			reply(w, 200, o)
			return true
		}, "abandoned"},
		"because there is no order": {func(w http.ResponseWriter, _ sold) bool {
			refuse(w, 404, "not_found", "")
			return true
		}, "not_found"},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, &fakeServer{stock: 5})
			queuing(s, 3, tc.end)
			s.report = func(in *auditReport, _ int) { in.Orders = 0 }
			rep := s.rush(t, Options{Users: 5})
			require.Zero(t, rep.Accepted)
			require.Equal(t, map[string]int{tc.code: 5}, rep.Refused)
			require.True(t, rep.Clean(), rep.Violations)
		})
	}
}

func TestPollInDoubt_NotFound_RepeatsTheRequestOnce(t *testing.T) {
	for name, test := range map[string]struct {
		lost     int32 // so many polls are answered 404
		accepted int
		refused  map[string]int
	}{
		"Redis has lost the first request":  {1, 1, map[string]int{}},
		"Redis has lost the second one too": {2, 0, map[string]int{"not_found": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, &fakeServer{stock: 5})
			var polls atomic.Int32
			queuing(s, 0, func(w http.ResponseWriter, _ sold) bool {
				lost := polls.Add(1) <= test.lost
				if lost {
					refuse(w, 404, "not_found", "")
				}
				return lost
			})
			s.report = func(in *auditReport, _ int) { in.Orders = test.accepted }
			rep := s.rush(t, Options{Users: 1, Keys: true})
			require.Equal(t, test.accepted, rep.Accepted)
			require.Equal(t, test.refused, rep.Refused)
			require.Equal(t, []int{1, 1}, []int{rep.Queued, rep.Repeats})
		})
	}
}

func TestInDoubt_202NeverDecided_IsAViolation(t *testing.T) {
	s := open(t, &fakeServer{stock: 1})
	queuing(s, 1<<30, nil)
	rep := s.rush(t, Options{Users: 1, InDoubt: 100 * time.Millisecond})
	require.Equal(t, map[string]int{"in_doubt": 1}, rep.Failures)
	require.Equal(t, AuditViolated, rep.Audit)
	require.ErrorContains(t, firstOf(rep), "neither an order nor a refusal")
}

func TestCtrlC_RequestsInFlight_FinishOrAreCounted(t *testing.T) {
	for name, tc := range map[string]struct {
		answers  bool // whether the requests in flight are answered at all
		netHTTP  bool
		accepted int
		failed   int
	}{
		"lets the requests in flight finish":                             {answers: true, accepted: 3},
		"lets the requests in flight finish, through net/http":           {answers: true, netHTTP: true, accepted: 3},
		"does not wait for a server that says nothing":                   {failed: 3},
		"does not wait for a server that says nothing, through net/http": {netHTTP: true, failed: 3},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			gone, stopped := make(chan struct{}), make(chan struct{})
			var inside atomic.Int32
			s := open(t, &fakeServer{stock: 100})
			s.buy = func(http.ResponseWriter, string, string, int) bool {
				if inside.Add(1) == 3 {
					cancel() // while all three lanes wait for an answer
					close(stopped)
				}
				// The parent context ends a moment before the contexts that Run made of it.
				<-stopped
				if !tc.answers {
					<-gone
				}
				return false
			}
			b := defaultTimeouts
			b.grace = 100 * time.Millisecond
			if tc.answers {
				b.grace = time.Minute
			}
			start := time.Now()
			rep, err := Run(ctx, Options{
				Timeout: time.Minute, URL: s.url, Users: 50, Concurrency: 3, Keys: true, Token: plainToken, AdminToken: "admin",
				netHTTP: tc.netHTTP, timeouts: b,
			})
			close(gone)
			require.NoError(t, err)
			require.Less(t, time.Since(start), 30*time.Second)
			require.True(t, rep.Stopped)
			require.Equal(t, 3, rep.Asked, "nobody else came")
			require.Equal(t, tc.accepted, rep.Accepted)
			require.Equal(t, tc.failed, rep.Failed)
			require.Equal(t, tc.accepted, rep.ReadBack)
			require.Equal(t, AuditClean, rep.Audit, "the audit is still read")
		})
	}
}

func TestCtrlC_BeforeFirstTap_ReportsNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := open(t, &fakeServer{stock: 1})
	rep, err := Run(ctx, Options{URL: s.url, Users: 1, Token: plainToken})
	require.NoError(t, err)
	require.True(t, rep.Stopped)
	require.Equal(t, AuditNotRun, rep.Audit)
}

func TestCtrlC_BetweenTwoTries_EndsThePause(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := open(t, &fakeServer{stock: 1})
	s.buy = func(w http.ResponseWriter, _, _ string, _ int) bool {
		refuse(w, 503, "unavailable", "5")
		cancel()
		return true
	}
	start := time.Now()
	rep, err := Run(ctx, Options{URL: s.url, Users: 1, Keys: true, Token: plainToken})
	require.NoError(t, err)
	require.Less(t, time.Since(start), 4*time.Second)
	require.Equal(t, map[string]int{"unavailable": 1}, rep.Refused)
}

func TestRush_InterruptedAfter202_CountsInDoubt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := open(t, &fakeServer{stock: 1})
	queuing(s, 0, func(w http.ResponseWriter, _ sold) bool {
		cancel()
		reply(w, 202, map[string]any{})
		return true
	})
	rep, err := Run(ctx, Options{URL: s.url, Users: 1, Token: plainToken, AdminToken: "admin"})
	require.NoError(t, err)
	require.Equal(t, map[string]int{"in_doubt": 1}, rep.Failures)
	require.Empty(t, rep.Violations)
	require.True(t, rep.Stopped)
}
