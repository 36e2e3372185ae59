package rush

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	firstBackoff = 20 * time.Millisecond
	maxBackoff   = time.Second
	// A longer Retry-After is a final refusal.
	maxRetryAfter = 5 * time.Second
)

// backoff waits before the next try: as long as the server said, or else a time that
// doubles with every try. Its jitter keeps those that were refused together from coming
// back together. It reports false if the caller should give up.
func backoff(ctx context.Context, try int, after time.Duration) bool {
	if after > maxRetryAfter {
		return false
	}
	d := after
	if d == 0 {
		d = min(maxBackoff, firstBackoff<<min(try-1, 10))
		d = d/2 + rand.N(d/2+1) //nolint:gosec // jitter is no secret
	} else {
		d += rand.N(firstBackoff) //nolint:gosec // as above
	}
	return sleep(ctx, d)
}

// sleep waits for d. It reports false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
