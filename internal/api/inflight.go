package api

import "sync/atomic"

// enter reserves an in-flight slot and reports whether one was free; the caller must
// then call leave. Purchases may use at most three quarters of the slots, so they
// cannot starve payments, cancellations and reads.
func (s *Server) enter(d routePolicy) bool {
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

// InFlight returns how many requests hold a slot.
func (s *Server) InFlight() int64 { return s.inFlight.Load() }

func (s *Server) leave(d routePolicy) {
	s.inFlight.Add(-1)
	if d.buys {
		s.buying.Add(-1)
	}
}

// enter increments n and reports whether it stays within most; if not, it undoes the
// increment. A most of 0 is no limit.
func enter(n *atomic.Int64, most int64) bool {
	if n.Add(1) > most && most > 0 {
		n.Add(-1)
		return false
	}
	return true
}
