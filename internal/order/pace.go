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
type pace struct {
	mu sync.Mutex
	of map[lane]stretch
}

type lane struct {
	coupon, epoch int64
	shard         int
}

// stretch is a piece of time in which others were always waiting.
type stretch struct {
	since  time.Time
	served int64
	each   time.Duration // that an entry takes, as the stretch before told; 0 is not known
}

const (
	// shortest and longest bound a stretch: in less hardly anything was served, and of
	// more nobody knows whether there was always somebody waiting.
	shortest, longest = 250 * time.Millisecond, 2 * time.Second
	// comeBack is the longest that a client is told to stay away: a queue becomes faster as
	// soon as fewer join it, and an order that is there should not wait for its buyer.
	comeBack = 2 * time.Second
	lanes    = 1024 // that are remembered
)

// again says after which time the turn of a queued order will have come; 0 if that is
// soon, or not known.
func (p *pace) again(now time.Time, o Order) time.Duration {
	at, ahead := lane{o.CouponID, o.Turn.Epoch, o.Shard}, o.Turn.Ahead
	served := o.Turn.Number - 1 - ahead
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of == nil || len(p.of) > lanes {
		p.of = map[lane]stretch{}
	}
	s := p.of[at]
	switch took := now.Sub(s.since); {
	case ahead <= 0: // nobody is waiting, and the queue may stand still
		s.since = time.Time{}
	case took > longest, served < s.served:
		s.since, s.served = now, served
	case took >= shortest && served > s.served:
		s = stretch{now, served, took / time.Duration(served-s.served)}
	}
	p.of[at] = s
	return min(comeBack, time.Duration(ahead)*s.each)
}
