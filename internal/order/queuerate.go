package order

import (
	"sync"
	"time"
)

// queueRate estimates how fast the queues move, from the number of entries that a shard has
// served at one sample and at a later one. It needs no extra request: every enqueue and
// every poll carries a fresh sample.
//
// Nothing depends on the estimate but what a client is told, and when it polls again.
type queueRate struct {
	mu      sync.Mutex
	windows map[queueKey]window
}

type queueKey struct {
	coupon, epoch int64
	shard         int
}

// window is a time during which the queue was never seen empty.
type window struct {
	since  time.Time
	served int64
	each   time.Duration // time per entry, measured by the window before; 0 is unknown
}

const (
	// minWindow and maxWindow bound a window: in a shorter one hardly anything is served,
	// and during a longer one the queue may have been empty.
	minWindow, maxWindow = 250 * time.Millisecond, 2 * time.Second
	// maxRetryAfter is the longest that a client is told to wait: a queue becomes faster as
	// soon as fewer requests join it, and a finished order should not wait for its client.
	maxRetryAfter = 2 * time.Second
	maxQueues     = 1024 // queues whose windows are kept
)

// estimate returns the position of a queued order with the pace of its queue, and after what time its
// client should poll again; 0 if that is soon or unknown.
func (p *queueRate) estimate(now time.Time, o Order) QueuePosition {
	at, ahead := queueKey{o.CouponID, o.Position.Epoch, o.Shard}, o.Position.Ahead
	served := o.Position.Number - 1 - ahead
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.windows == nil || len(p.windows) > maxQueues {
		p.windows = map[queueKey]window{}
	}
	s := p.windows[at]
	switch took := now.Sub(s.since); {
	case ahead <= 0: // it is first, and the queue may be idle from here on
		s.since = time.Time{}
	case took > maxWindow, served < s.served:
		s.since, s.served = now, served
	case took >= minWindow && served > s.served:
		s = window{now, served, took / time.Duration(served-s.served)}
	}
	p.windows[at] = s
	o.Position.Each, o.Position.RetryAfter = s.each, min(maxRetryAfter, time.Duration(ahead)*s.each)
	return o.Position
}
