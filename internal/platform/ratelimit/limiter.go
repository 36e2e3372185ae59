// Package ratelimit limits the requests per second of each client. A client has a token bucket in each
// instance, and one in all instances together.
//
//	request ─▶ the client's bucket in this instance ─▶ allowed or refused, without a call to any server
//	                │ every 100 ms, of clients that have used a part of their bucket
//	                ▼
//	          the client's bucket in Redis, which may go below zero ─▶ the bucket here is lowered to it
//
// A request never waits for the other instances. A flood costs no round trips, because an instance does not
// report rejected requests. So for one interval an instance may admit requests that another instance has
// admitted already. The excess is a debt: both instances pay it back before they admit more. Over time a
// client gets its limit from any number of instances together. In the first moments it gets up to a burst
// from each instance.
package ratelimit

import (
	"hash/maphash"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Options configure a Limiter.
type Options[client comparable] struct {
	PerSecond int              // requests per second of one client; 0 is no limit
	Burst     int              // requests at once; 0 is PerSecond
	Now       func() time.Time // nil is time.Now
	// Key returns the name of a client's bucket in all instances. It may be nil if the Limiter is not
	// reconciled.
	Key func(client) string
}

// Limiter limits the rate of each client with a token bucket. A nil Limiter allows every request.
//
// It needs no goroutine, and its memory is bounded. A client is in the young generation or in the old one.
// When the young generation is as old as an empty bucket needs to fill, the Limiter drops the old
// generation. The clients of the old generation have full buckets, as unknown clients have. Many new
// clients can cause the drop sooner. The limit is then milder for a moment, and the memory is still
// bounded.
type Limiter[client comparable] struct {
	o       Options[client]
	refill  time.Duration
	told    int // requests of a client after which the ledger must know
	seed    maphash.Seed
	stripes [16]stripe[client]
}

type stripe[client comparable] struct {
	mu    sync.Mutex
	since time.Time
	young map[client]*bucket
	old   map[client]*bucket
	due   map[client]*bucket // buckets that owe the ledger a debit
}

// bucket holds the requests that one client has left here, and those that the ledger does not know yet.
type bucket struct {
	*rate.Limiter
	spent  int       // allowed requests that the ledger does not know yet
	began  time.Time // when the first of them was allowed
	shared bool      // the ledger knows this client, and gets every request
}

// maxClients bounds one generation of one stripe.
const maxClients = 8192

// New returns a Limiter, or nil if there is no limit.
func New[client comparable](o Options[client]) *Limiter[client] {
	if o.PerSecond <= 0 {
		return nil
	}
	if o.Burst <= 0 {
		o.Burst = o.PerSecond
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Limiter[client]{
		o: o, seed: maphash.MakeSeed(), told: max(1, o.Burst/8),
		refill: time.Duration(o.Burst)*time.Second/time.Duration(o.PerSecond) + time.Second,
	}
}

// Burst returns how many requests a client may make at once.
func (l *Limiter[client]) Burst() int { return l.o.Burst }

// Refill returns the time in which an empty bucket fills.
func (l *Limiter[client]) Refill() time.Duration { return l.refill - time.Second }

// Allow reports whether the client may make a request now.
func (l *Limiter[client]) Allow(c client) bool {
	if l == nil {
		return true
	}
	now := l.o.Now()
	s := &l.stripes[maphash.Comparable(l.seed, c)%uint64(len(l.stripes))]
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.young == nil || len(s.young) >= maxClients || now.Sub(s.since) > l.refill {
		s.old, s.young, s.since = s.young, make(map[client]*bucket), now
	}
	b := s.young[c]
	if b == nil {
		if b = s.old[c]; b == nil {
			b = &bucket{Limiter: rate.NewLimiter(rate.Limit(l.o.PerSecond), l.o.Burst)}
		}
		s.young[c] = b
	}
	if !b.AllowN(now, 1) {
		return false
	}
	if l.o.Key != nil {
		l.spend(s, c, b, now)
	}
	return true
}

// spend notes an allowed request. The ledger gets a client's requests once they are an eighth of the burst:
// a client with few requests costs Redis nothing. spend forgets requests that are older than a bucket needs
// to fill, because the bucket in Redis would be full again as well.
func (l *Limiter[client]) spend(s *stripe[client], c client, b *bucket, now time.Time) {
	if b.spent == 0 || (!b.shared && now.Sub(b.began) > l.refill) {
		b.spent, b.began = 0, now
	}
	b.spent++
	if !b.shared && b.spent < l.told {
		return
	}
	if s.due == nil {
		s.due = make(map[client]*bucket)
	}
	s.due[c] = b
}
