package rush

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// errSilent is the cause of a run that ended because the server did not answer.
var errSilent = errors.New("the server stopped answering")

// silence notices that the server is gone. It counts the requests that failed since the latest
// answer. A server that is only slow answers some request within the limit.
type silence struct {
	limit    time.Duration
	began    time.Time
	answered atomic.Int64 // when the latest answer came, in ns since began

	mu       sync.Mutex
	since    int64 // the answer that the failures came after
	failures int
	first    time.Duration // when the first of the failed requests was sent, since began
}

// note records the outcome of one request. It returns an errSilent if no request was answered for
// the limit and two or more failed.
func (s *silence) note(sent time.Time, a answer, err error) error {
	if err == nil && !ofGateway(a) || errors.Is(err, errTooLarge) {
		s.answered.Store(int64(time.Since(s.began)))
		return nil
	}
	name := classify(a, err).name
	if s.failed(sent.Sub(s.began), time.Since(s.began)) {
		return fmt.Errorf("%w: every request failed for %v, the latest with %s", errSilent, s.limit, name)
	}
	return nil
}

// failed records a request that was not answered, by the times since began. It reports whether the
// server counts as gone.
func (s *silence) failed(sent, now time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	answered := s.answered.Load()
	if s.failures == 0 || answered != s.since {
		s.since, s.failures, s.first = answered, 0, sent
	}
	s.failures++
	s.first = min(s.first, sent)
	return s.failures > 1 && now-max(s.first, time.Duration(answered)) >= s.limit
}

// ofGateway reports whether a proxy answered because it could not reach the server.
func ofGateway(a answer) bool {
	switch a.status {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return a.code == ""
	}
	return false
}
