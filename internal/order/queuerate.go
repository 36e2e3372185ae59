package order

import (
	"sync"
	"time"
)

// queueRate estimates how fast the queues move. It compares the number of entries that a shard has served at one
// sample with the number at a later sample. It needs no extra request, because every enqueue and every poll has a
// fresh sample.
//
// The estimate affects only the response to a client and the time of the client's next poll.
type queueRate struct {
	mu      sync.Mutex
	windows map[queueKey]window
}

type queueKey struct {
	coupon, epoch int64
	shard         int
}

// window is a time in which no sample showed an empty queue.
type window struct {
	since  time.Time
	served int64
	each   time.Duration // time per entry in the window before; 0 is unknown
}

const (
	// minWindow and maxWindow bound a window. In a shorter window the workers serve hardly any entry. During a longer
	// window the queue may have been empty.
	minWindow, maxWindow = 250 * time.Millisecond, 2 * time.Second
	// maxRetryAfter is the longest wait that the response asks of a client. A queue becomes faster as soon as fewer
	// requests join it, and a finished order should not wait for its client.
	maxRetryAfter = 2 * time.Second
	maxQueues     = 1024 // the limit on queues in windows
)

// estimate returns the position of a queued order. The position has the time per entry of the queue, and the time after
// which the client should poll again. This time is 0 if it is short or unknown.
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
	case ahead <= 0: // the order is first, and the queue may be idle from now on
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
