package rush

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	firstPause = 20 * time.Millisecond
	longPause  = time.Second
	// A server that wants to be left alone for longer is taken at its word: the
	// refusal stands.
	longestPause = 5 * time.Second
)

// pause waits before the next try: as long as the server said, or else a time
// that doubles with every try. It spreads the waiters, so that those who were
// sent away together do not come back together. False: give up instead.
func pause(ctx context.Context, try int, after time.Duration) bool {
	if after > longestPause {
		return false
	}
	d := after
	if d == 0 {
		d = min(longPause, firstPause<<min(try-1, 10))
		d = d/2 + rand.N(d/2+1) //nolint:gosec // it spreads waiters and hides nothing
	} else {
		d += rand.N(firstPause) //nolint:gosec // as above
	}
	return sleep(ctx, d)
}

// sleep waits for d, or less if ctx ends: then it is false.
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
