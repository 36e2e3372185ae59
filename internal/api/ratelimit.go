package api

import (
	"fmt"
	"hash/maphash"
	"math"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// limits is a rate limit per client: a token bucket each.
//
// It needs no goroutine, and its memory is bounded. A client is in the young generation or in the
// old one. When the young one is as old as an empty bucket needs to fill, the old one is dropped:
// its clients have full buckets, as unknown clients have. Many new clients can make that happen
// sooner; the limit is milder for a moment then, and the memory is still bounded.
type limits[client comparable] struct {
	rate    rate.Limit
	burst   int
	refill  time.Duration
	now     func() time.Time
	seed    maphash.Seed
	policy  []string // of the RateLimit-Policy header
	spent   []string // of the RateLimit header of a client with nothing left
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

// newLimits allows each client perSecond requests a second and burst at once. If perSecond is 0, it
// returns nil, which allows every request.
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

// tell sets the headers of a refusal, as draft-ietf-httpapi-ratelimit-headers has them: the quota and
// the seconds in which all of it comes back; and that nothing is left, for a second at least.
func (l *limits[client]) tell(h http.Header) {
	h["Ratelimit-Policy"], h["Ratelimit"] = l.policy, l.spent
}

// named returns l, whose policy has this name in the headers.
func (l *limits[client]) named(name string) *limits[client] {
	if l != nil {
		window := max(1, int(math.Ceil(float64(l.burst)/float64(l.rate))))
		l.policy = []string{fmt.Sprintf("%q;q=%d;w=%d", name, l.burst, window)}
		l.spent = []string{fmt.Sprintf("%q;r=0;t=1", name)}
	}
	return l
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
