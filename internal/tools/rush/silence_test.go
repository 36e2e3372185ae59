package rush

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSilence_Failed_OnlyWhenNoRequestIsAnsweredForTheLimit(t *testing.T) {
	type event struct {
		sent, at time.Duration
		answered bool
	}
	const s = time.Second
	for name, tc := range map[string]struct {
		events []event
		gone   bool // after the last, and not before
	}{
		"refused connections":                {[]event{{9 * s, 9 * s, true}, {10 * s, 10 * s, false}, {14 * s, 14 * s, false}, {15 * s, 15 * s, false}}, true},
		"refused for less than the limit":    {[]event{{10 * s, 10 * s, false}, {14 * s, 14 * s, false}}, false},
		"requests that time out together":    {[]event{{9 * s, 9 * s, true}, {9 * s, 19 * s, false}, {9 * s, 19 * s, false}}, true},
		"an answer between two timeouts":     {[]event{{9 * s, 19 * s, false}, {18 * s, 18 * s, true}, {9 * s, 19 * s, false}}, false},
		"one request that is lost":           {[]event{{9 * s, 9 * s, true}, {9 * s, 19 * s, false}}, false},
		"a failure long after the last one":  {[]event{{0, 0, true}, {60 * s, 60 * s, false}, {60 * s, 61 * s, false}}, false},
		"an answer after a long silence":     {[]event{{10 * s, 10 * s, false}, {14 * s, 14 * s, true}, {15 * s, 15 * s, false}, {19 * s, 19 * s, false}}, false},
		"a server that was never there":      {[]event{{0, 0, false}, {5 * s, 5 * s, false}}, true},
		"a first request that is never lost": {[]event{{0, 10 * s, true}, {0, 10 * s, false}, {0, 10 * s, false}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := silence{limit: 5 * s}
			for i, e := range tc.events {
				if e.answered {
					w.answered.Store(int64(e.at))
					continue
				}
				require.Equal(t, tc.gone && i == len(tc.events)-1, w.failed(e.sent, e.at), "event %d", i)
			}
		})
	}
}

// mortal is a server that dies by request.
type mortal struct {
	*fakeServer

	server *httptest.Server
	dead   atomic.Bool
	die    func(w http.ResponseWriter, r *http.Request) // answers every request to the dead server; nil closes it
}

func (m *mortal) kill() {
	m.dead.Store(true)
	if m.die == nil {
		_ = m.server.Listener.Close()
		m.server.CloseClientConnections()
	}
}

func openMortal(t *testing.T, die func(http.ResponseWriter, *http.Request)) *mortal {
	t.Helper()
	m := &mortal{fakeServer: open(t, &fakeServer{stock: 100_000}), die: die}
	routes := m.routes()
	m.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if m.dead.Load() && m.die != nil {
			m.die(w, r)
			return
		}
		routes.ServeHTTP(w, r)
	}))
	t.Cleanup(m.server.Close)
	m.url = m.server.URL
	return m
}

// deaths are how a server can be gone: its machine answers, takes connections, or neither.
var deaths = map[string]func(w http.ResponseWriter, r *http.Request){
	"it is killed":              nil,
	"it hangs up":               func(w http.ResponseWriter, _ *http.Request) { hangUp(w) },
	"it is silent":              func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	"its proxy has no upstream": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) },
}

// quick are the timeouts of a run whose server dies.
func quick() timeouts {
	q := defaultTimeouts
	q.silence, q.grace, q.audit = 300*time.Millisecond, 50*time.Millisecond, time.Second
	return q
}

func TestRush_ServerDiesInTheMiddle_StopsAndSaysSo(t *testing.T) {
	const users = 50_000 // with eight tries each, far more than there is time for
	for name, die := range deaths {
		t.Run(name, func(t *testing.T) {
			m := openMortal(t, die)
			m.buy = func(http.ResponseWriter, string, string, int) bool {
				m.mu.Lock()
				defer m.mu.Unlock()
				if len(m.orders) == 100 {
					go m.kill()
				}
				return false
			}
			rep, err := Run(t.Context(), Options{
				URL: m.url, Users: users, Concurrency: 8, Keys: true, DoubleTapEvery: 3, Timeout: 200 * time.Millisecond,
				Token: plainToken, AdminToken: "admin", timeouts: quick(),
			})
			require.NoError(t, err)
			require.GreaterOrEqual(t, rep.Accepted, 100)
			require.Less(t, rep.Asked, users, "it sent them all")
			require.Equal(t, rep.Asked, rep.Accepted+sum(rep.Refused)+rep.Failed, "every tap has one outcome")
			require.Contains(t, rep.GaveUp, "the server stopped answering: every request failed for 300ms")
			require.Empty(t, rep.Violations, "a server that is gone has lost nothing as far as is known")
			require.ErrorContains(t, rep.Verdict(true), "given up: the server stopped answering")
			require.ErrorContains(t, rep.Verdict(false), "given up: the server stopped answering")
		})
	}
}

func TestRush_ServerDiesAfterTheSale_StopsAndSaysSo(t *testing.T) {
	for stage, verify := range map[string]int{"before the orders are read back": 0, "before the audit": -1} {
		t.Run(stage, func(t *testing.T) {
			m := openMortal(t, nil)
			rep, err := Run(t.Context(), Options{
				URL: m.url, Users: 50, Verify: verify, Keys: true, Timeout: 200 * time.Millisecond, Done: m.kill,
				Token: plainToken, AdminToken: "admin", timeouts: quick(),
			})
			require.NoError(t, err)
			require.Equal(t, 50, rep.Accepted)
			require.Empty(t, rep.Violations)
			require.ErrorContains(t, rep.Verdict(false), "given up: the server stopped answering")
		})
	}
}

func TestRush_StoppedBesideADeadServer_EndsByItself(t *testing.T) {
	m := openMortal(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	patient := quick()
	patient.silence = time.Hour
	rep, err := Run(ctx, Options{
		URL: m.url, Users: 50, Rate: 10, Keys: true, Timeout: 200 * time.Millisecond, Token: plainToken, timeouts: patient,
		OnProgress: func(p Progress) {
			if p.Accepted > 0 {
				m.kill()
				cancel()
			}
		},
	})
	require.NoError(t, err)
	require.True(t, rep.Stopped)
	require.Empty(t, rep.GaveUp)
	require.ErrorContains(t, rep.Verdict(false), "stopped before all buyers were sent")
}

// A server that is slow, or refuses everything by its contract, is there.
func TestRush_ServerOnlyRefuses_IsPlayedToTheEnd(t *testing.T) {
	s := open(t, &fakeServer{stock: 10})
	s.buy = func(w http.ResponseWriter, _, _ string, _ int) bool {
		refuse(w, http.StatusServiceUnavailable, "unavailable", "")
		return true
	}
	o := quick()
	o.silence = time.Millisecond
	rep := s.rush(t, Options{Users: 8, Concurrency: 2, Keys: true, Tries: 3, timeouts: o})
	require.Equal(t, map[string]int{"unavailable": 8}, rep.Refused)
	require.Empty(t, rep.GaveUp)
}
