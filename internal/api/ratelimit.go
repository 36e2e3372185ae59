package api

import (
	"hash/maphash"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// limits is a rate limit per client: a token bucket each.
//
// It needs no goroutine and its memory is bounded. A client is in the young
// generation or in the old one; when the young one is as old as a bucket needs to
// fill up, the old one is dropped: whoever was in it only has a full bucket, which
// is what a client that is not known has too. A crowd of new clients can make that
// happen sooner; then a limit is milder for a moment and the memory still bounded.
type limits[client comparable] struct {
	rate    rate.Limit
	burst   int
	refill  time.Duration
	now     func() time.Time
	seed    maphash.Seed
	stripes [16]limitStripe[client]
}

type limitStripe[client comparable] struct {
	mu    sync.Mutex
	since time.Time
	young map[client]*rate.Limiter
	old   map[client]*rate.Limiter
}

// maxClients bounds one generation of one stripe.
const maxClients = 8192

// newLimits lets each client ask perSecond times a second, and burst times at
// once. If perSecond is 0, it returns nil, which allows every request.
func newLimits[client comparable](perSecond, burst int, now func() time.Time) *limits[client] {
	if perSecond <= 0 {
		return nil
	}
	if burst <= 0 {
		burst = perSecond
	}
	return &limits[client]{
		rate: rate.Limit(perSecond), burst: burst, now: now, seed: maphash.MakeSeed(),
		refill: time.Duration(burst)*time.Second/time.Duration(perSecond) + time.Second,
	}
}

// allow reports whether the client may make a request now.
func (l *limits[client]) allow(who client) bool {
	if l == nil {
		return true
	}
	now := l.now()
	p := &l.stripes[maphash.Comparable(l.seed, who)%uint64(len(l.stripes))]
	p.mu.Lock()
	if p.young == nil || len(p.young) >= maxClients || now.Sub(p.since) > l.refill {
		p.old, p.young, p.since = p.young, make(map[client]*rate.Limiter), now
	}
	bucket := p.young[who]
	if bucket == nil {
		if bucket = p.old[who]; bucket == nil {
			bucket = rate.NewLimiter(l.rate, l.burst)
		}
		p.young[who] = bucket
	}
	p.mu.Unlock()
	return bucket.AllowN(now, 1)
}
