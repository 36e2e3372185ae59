package rush

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func newServer(t *testing.T, h http.Handler) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL
}

// Signed2Lines is a token that would smuggle a header in.
func Signed2Lines(context.Context, int64) (string, error) { return "a\r\nb: c", nil }

func TestRetry_EachAnswer_IsRepeatedOrCounted(t *testing.T) {
	for name, tc := range map[string]struct {
		keys  bool
		first func(s *fakeServer, w http.ResponseWriter, user, key string) // the answer to the first try
		last  func(s *fakeServer, w http.ResponseWriter, user, key string) // to the others; nil = honest

		accepted, committed int
		refused             map[string]int
		failed              map[string]int
	}{
		"an answer lost after the commit is asked for with the same key and is one order": {
			keys:  true,
			first: func(s *fakeServer, w http.ResponseWriter, user, key string) { s.sell(user, key); hangUp(w) },
			// the key finds the order that is there
			accepted: 4, committed: 4,
		},
		"an answer lost before the commit is asked for with the same key": {
			keys:     true,
			first:    func(_ *fakeServer, w http.ResponseWriter, _, _ string) { hangUp(w) },
			accepted: 4, committed: 4,
		},
		"a lost answer without a key is not asked again, and the order is not counted as accepted": {
			first:     func(s *fakeServer, w http.ResponseWriter, user, key string) { s.sell(user, key); hangUp(w) },
			committed: 4, failed: map[string]int{"no_answer": 4},
		},
		"a fault of the server is asked again": {
			keys:     true,
			first:    func(_ *fakeServer, w http.ResponseWriter, _, _ string) { refuse(w, 500, "internal", "") },
			accepted: 4, committed: 4,
		},
		"a gateway's 502 is asked again": {
			keys:     true,
			first:    func(_ *fakeServer, w http.ResponseWriter, _, _ string) { w.WriteHeader(http.StatusBadGateway) },
			accepted: 4, committed: 4,
		},
		"busy is asked again": {
			keys:     true,
			first:    func(_ *fakeServer, w http.ResponseWriter, _, _ string) { refuse(w, 409, "request_in_progress", "") },
			accepted: 4, committed: 4,
		},
		"a 202 that names no place is asked again with its key": {
			keys:     true,
			first:    func(_ *fakeServer, w http.ResponseWriter, _, _ string) { reply(w, 202, map[string]any{}) },
			accepted: 4, committed: 4,
		},
		"busy to the end is one refusal": {
			keys:    true,
			first:   func(_ *fakeServer, w http.ResponseWriter, _, _ string) { refuse(w, 409, "request_in_progress", "") },
			last:    func(_ *fakeServer, w http.ResponseWriter, _, _ string) { refuse(w, 409, "request_in_progress", "") },
			refused: map[string]int{"request_in_progress": 4},
		},
		"no answer to the end is one failure": {
			keys:   true,
			first:  func(_ *fakeServer, w http.ResponseWriter, _, _ string) { hangUp(w) },
			last:   func(_ *fakeServer, w http.ResponseWriter, _, _ string) { hangUp(w) },
			failed: map[string]int{"no_answer": 4},
		},
		"a wait that is too long is not waited for": {
			keys:    true,
			first:   func(_ *fakeServer, w http.ResponseWriter, _, _ string) { refuse(w, 503, "unavailable", "3600") },
			refused: map[string]int{"unavailable": 4},
		},
		"overloaded without a key stands": {
			first:   func(_ *fakeServer, w http.ResponseWriter, _, _ string) { refuse(w, 503, "overloaded", "1") },
			refused: map[string]int{"overloaded": 4},
		},
		"sold out is never asked again": {
			keys:    true,
			first:   func(_ *fakeServer, w http.ResponseWriter, _, _ string) { refuse(w, 409, "sold_out", "") },
			refused: map[string]int{"sold_out": 4},
		},
		"an answer that is none of the contract's is a failure": {
			keys:   true,
			first:  func(_ *fakeServer, w http.ResponseWriter, _, _ string) { reply(w, 200, map[string]any{"id": "5"}) },
			failed: map[string]int{"http_200": 4},
		},
	} {
		for path, netHTTP := range map[string]bool{"": false, ", through net/http": true} {
			t.Run(name+path, func(t *testing.T) {
				s := open(t, &fakeServer{stock: 100})
				s.buy = func(w http.ResponseWriter, user, key string, try int) bool {
					switch {
					case try == 1:
						tc.first(s, w, user, key)
					case tc.last != nil:
						tc.last(s, w, user, key)
					default:
						return false
					}
					return true
				}
				rep := s.rush(t, Options{Users: 4, Keys: tc.keys, Tries: 4, netHTTP: netHTTP})
				require.Equal(t, tc.accepted, rep.Accepted)
				require.Equal(t, tc.committed, rep.Committed)
				require.Equal(t, orEmpty(tc.refused), rep.Refused)
				require.Equal(t, orEmpty(tc.failed), rep.Failures)
				require.True(t, rep.Clean(), rep.Violations)
			})
		}
	}
}

func orEmpty(m map[string]int) map[string]int {
	if m == nil {
		return map[string]int{}
	}
	return m
}

func TestRetry_Tries_AreBounded(t *testing.T) {
	s := open(t, &fakeServer{stock: 1})
	s.buy = func(w http.ResponseWriter, _, _ string, _ int) bool {
		refuse(w, 409, "request_in_progress", "")
		return true
	}
	rep := s.rush(t, Options{Users: 1, Keys: true, Tries: 3})
	require.Equal(t, 2, rep.Repeats)
	for _, n := range s.tries {
		require.Equal(t, 3, n)
	}
}

func TestRetryAfter_Given_IsObserved(t *testing.T) {
	var first, second time.Time
	s := open(t, &fakeServer{stock: 1})
	s.buy = func(w http.ResponseWriter, _, _ string, try int) bool {
		if try == 1 {
			first = time.Now()
			refuse(w, 429, "rate_limited", "1")
			return true
		}
		second = time.Now()
		return false
	}
	rep := s.rush(t, Options{Users: 1, Keys: true})
	require.Equal(t, 1, rep.Accepted)
	require.GreaterOrEqual(t, second.Sub(first), time.Second)
	require.Greater(t, rep.P50Millis, 1000.0, "the wait is part of the latency")
}

func TestRush_AnswerTimesOut_RepeatsRequest(t *testing.T) {
	for name, netHTTP := range map[string]bool{"on the light path": false, "through net/http": true} {
		t.Run(name, func(t *testing.T) {
			answered := make(chan struct{})
			s := open(t, &fakeServer{stock: 1})
			s.buy = func(_ http.ResponseWriter, user, key string, try int) bool {
				if try == 1 {
					s.sell(user, key)
					<-answered
				}
				return false
			}
			o := Options{Users: 1, Keys: true, Timeout: 100 * time.Millisecond, netHTTP: netHTTP}
			rep := s.rush(t, o)
			close(answered)
			require.Equal(t, 1, rep.Accepted)
			require.Equal(t, 1, rep.Repeats)
			require.Equal(t, 1, rep.Committed)
		})
	}
}

func TestRetryAfter_SecondsOrDate_IsRead(t *testing.T) {
	require.Equal(t, 3*time.Second, retryAfter("3"))
	require.Zero(t, retryAfter(""))
	require.Zero(t, retryAfter("-4"))
	require.Zero(t, retryAfter("soon"))
	require.InDelta(t, 60, retryAfter(time.Now().Add(time.Minute).UTC().Format(http.TimeFormat)).Seconds(), 2)
}

func TestLatency_RetryAfterWait_IsNotCounted(t *testing.T) {
	s := open(t, &fakeServer{stock: 100})
	s.buy = func(w http.ResponseWriter, user, _ string, try int) bool {
		if user != "1" || try > 1 {
			return false
		}
		refuse(w, 409, "request_in_progress", "1")
		return true
	}
	rep := s.rush(t, Options{Users: 1, Keys: true})
	require.Equal(t, 1, rep.Accepted)
	require.Equal(t, 1, rep.Told)
	require.GreaterOrEqual(t, rep.P99Millis, 1000.0, "what the buyer has waited")
	require.GreaterOrEqual(t, rep.P99Millis-rep.UntoldP99Millis, 900.0)
}
