package embedded

import (
	"context"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// tick is the time between two looks for expired keys. A key may expire too early by one tick at most,
// because it is charged for the whole tick in which it was set. So tick must stay below the margin that a
// lease keeps. Each look goes through all keys under the lock that commands wait for: 0.01 ms with a
// hundred keys, 2 ms with ten thousand.
const tick = 20 * time.Millisecond

// runClock makes keys expire as real time passes: miniredis counts their time to live down only in
// FastForward. TIME and scripts need no help: without SetTime they read the machine's clock.
//
// runClock charges the time that really passed since the last look. So a process that was stopped for a
// while does not prolong a lease.
func runClock(ctx context.Context, redis *miniredis.Miniredis) {
	t := time.NewTicker(tick)
	defer t.Stop()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			now := time.Now()
			redis.FastForward(now.Sub(last))
			last = now
		}
	}
}
