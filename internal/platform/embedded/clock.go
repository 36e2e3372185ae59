package embedded

import (
	"context"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// tick is how often keys are looked at for expiry, and with that how much too
// early a key may go: it is charged for the whole tick that it was set in. So it
// has to stay below the margin that a lease keeps. Each look goes through all
// keys under the lock that commands wait for: 0.01 ms with a hundred of them,
// 2 ms with ten thousand.
const tick = 20 * time.Millisecond

// runClock makes keys expire as real time passes: miniredis counts their time
// to live down only when told to. TIME and scripts need no help: as long as
// SetTime is not called they read the machine's clock.
//
// What is charged is the time that really passed since the last look, so a
// process that was stopped for a while does not prolong a lease.
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
