package order

import (
	"sync"
	"time"
)

// pace is how fast the queues move, as this instance sees it: from how many entries a
// shard has served at one look and at a later one. It costs nobody a question, because
// whoever is queued or asks for his place brings such a look.
//
// It is an estimate, and for a client that would otherwise ask again and again: nothing
// depends on it but when he comes back.
type queueRate struct {
	mu      sync.Mutex
	windows map[queueKey]window
}

type queueKey struct {
	coupon, epoch int64
	shard         int
}

// stretch is a piece of time in which others were always waiting.
type window struct {
	since  time.Time
	served int64
	each   time.Duration // that an entry takes, as the stretch before told; 0 is not known
}

const (
	// shortest and longest bound a stretch: in less hardly anything was served, and of
	// more nobody knows whether there was always somebody waiting.
	minWindow, maxWindow = 250 * time.Millisecond, 2 * time.Second
	// maxRetryAfter is the longest that a client is told to stay away: a queue becomes faster as
	// soon as fewer join it, and an order that is there should not wait for its buyer.
	maxRetryAfter = 2 * time.Second
	maxQueues     = 1024 // that are remembered
)

// again says after which time the turn of a queued order will have come; 0 if that is
// soon, or not known.
func (p *queueRate) retryAfter(now time.Time, o Order) time.Duration {
	at, ahead := queueKey{o.CouponID, o.Position.Epoch, o.Shard}, o.Position.Ahead
	served := o.Position.Number - 1 - ahead
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.windows == nil || len(p.windows) > maxQueues {
		p.windows = map[queueKey]window{}
	}
	s := p.windows[at]
	switch took := now.Sub(s.since); {
	case ahead <= 0: // nobody is waiting, and the queue may stand still
		s.since = time.Time{}
	case took > maxWindow, served < s.served:
		s.since, s.served = now, served
	case took >= minWindow && served > s.served:
		s = window{now, served, took / time.Duration(served-s.served)}
	}
	p.windows[at] = s
	return min(maxRetryAfter, time.Duration(ahead)*s.each)
}
