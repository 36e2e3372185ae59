package api

import (
	"fmt"
	"math"
	"net/http"
	"strconv"

	"example.com/seckill/internal/platform/ratelimit"
)

// limits is a rate limit per client with the headers of its refusals. A nil one allows every request.
type limits[client comparable] struct {
	*ratelimit.Limiter[client]
	policy []string // of the RateLimit-Policy header
	spent  []string // of the RateLimit header of a client with nothing left
}

// newLimits returns a limit with this name in the headers.
func newLimits[client comparable](name string, o ratelimit.Options[client]) limits[client] {
	l := limits[client]{Limiter: ratelimit.New(o)}
	if l.Limiter != nil {
		window := max(1, int(math.Ceil(l.Refill().Seconds())))
		l.policy = []string{fmt.Sprintf("%q;q=%d;w=%d", name, l.Burst(), window)}
		l.spent = []string{fmt.Sprintf("%q;r=0;t=1", name)}
	}
	return l
}

// tell sets the headers of a refusal, as draft-ietf-httpapi-ratelimit-headers has them: the quota and
// the seconds in which all of it comes back; and that nothing is left, for a second at least.
func (l limits[client]) tell(h http.Header) {
	h["Ratelimit-Policy"], h["Ratelimit"] = l.policy, l.spent
}

// RateLimits returns the limits of the server, which a fleet may share.
func (s *Server) RateLimits() []ratelimit.Shared {
	return []ratelimit.Shared{s.users.Limiter, s.addresses.Limiter, s.clients.Limiter}
}

// The names of the buckets of a fleet.
func userBucket(id int64) string       { return "user:" + strconv.FormatInt(id, 10) }
func sessionBucket(addr string) string { return "session:" + addr }
func addressBucket(addr string) string { return "address:" + addr }
