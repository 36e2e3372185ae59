package api

import (
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
)

// identify says who asks, from the bearer token alone.
func (s *Server) identify(h http.Header) (Identity, error) {
	token, ok := bearer(h)
	if !ok {
		return Identity{}, errUnauthenticated
	}
	who, err := s.tokens.Verify(token)
	if err != nil {
		return Identity{}, fmt.Errorf("%w: %w", errUnauthenticated, err)
	}
	return who, nil
}

// challenge says how to come in, as RFC 6750 has it.
func challenge(asked, answer http.Header) {
	value := `Bearer realm="seckill"`
	if len(asked["Authorization"]) > 0 {
		value += `, error="invalid_token"`
	}
	answer["Www-Authenticate"] = []string{value}
}

// enter counts a request in, unless there are too many. Who was let in leaves. Those
// who buy get three quarters of the places and no more, so that a crowd of them
// keeps nobody from paying, cancelling or looking.
func (s *Server) enter(d door) bool {
	most := int64(s.o.MaxInFlight)
	if !enter(&s.inFlight, most) {
		return false
	}
	if d.buys && !enter(&s.buying, most-most/4) {
		s.inFlight.Add(-1)
		return false
	}
	return true
}

func (s *Server) leave(d door) {
	s.inFlight.Add(-1)
	if d.buys {
		s.buying.Add(-1)
	}
}

// enter counts one more, unless that is more than most. A most of 0 is no limit.
func enter(n *atomic.Int64, most int64) bool {
	if n.Add(1) > most && most > 0 {
		n.Add(-1)
		return false
	}
	return true
}

var errNoParts = errors.New("api: a part is missing")
