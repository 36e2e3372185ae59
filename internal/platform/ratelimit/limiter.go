// Package ratelimit bounds how often a client may ask, by a token bucket each, in one instance and in a
// all instances together.
//
//	request ─▶ the client's bucket in this instance ─▶ allowed or refused, without a call to any server
//	                │ every 100 ms, of clients that have used a part of their bucket
//	                ▼
//	          the client's bucket in Redis, which may go below zero ─▶ the bucket here is lowered to it
//
// A request is never kept waiting for the others, and a flood costs no round trips: what is refused here is
// not told. An instance may therefore admit what another has admitted already, for an interval; it is a
// debt, which both pay back before they admit more. Over time a client gets what the limit says, from
// however many instances; in the first moments up to a burst from each.
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
	// Key names a client's bucket in all instances. It may be nil if the Limiter is not reconciled.
	Key func(client) string
}

// Limiter is a rate limit per client: a token bucket each. A nil Limiter allows every request.
//
// It needs no goroutine, and its memory is bounded. A client is in the young generation or in the
// old one. When the young one is as old as an empty bucket needs to fill, the old one is dropped:
// its clients have full buckets, as unknown clients have. Many new clients can make that happen
// sooner; the limit is milder for a moment then, and the memory is still bounded.
type Limiter[client comparable] struct {
	o       Options[client]
	refill  time.Duration
	told    int // requests of a client after which the others are told
	seed    maphash.Seed
	stripes [16]stripe[client]
}

type stripe[client comparable] struct {
	mu    sync.Mutex
	since time.Time
	young map[client]*bucket
	old   map[client]*bucket
	due   map[client]*bucket // to be told to the others
}

// bucket is what one client has left here, and what the others do not know of yet.
type bucket struct {
	*rate.Limiter
	spent  int       // requests that were allowed and not told
	began  time.Time // the first of them
	shared bool      // the others know of this client: all that it spends is told
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

// spend notes an allowed request. What a client has spent is told to the others once it is an eighth of
// the burst: one that asks a few times costs Redis nothing. What it spent longer ago than a bucket needs
// to fill is forgotten, as it would be there.
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
