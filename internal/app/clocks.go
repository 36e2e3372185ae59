package app

import (
	"context"
	"fmt"
	"time"

	"example.com/seckill/internal/platform/clock"
	"example.com/seckill/internal/platform/preflight"
)

// checkStart refuses servers that would cost units or orders later.
func checkStart(ctx context.Context, a *App) error {
	if a.embedded != nil {
		return nil
	}
	if err := check(ctx, a.cfg, a.redis, a.clock, &a.found); err != nil {
		return err
	}
	if err := a.found.Err(); err != nil {
		return Usage(err)
	}
	return nil
}

// warn logs what was found at the start and may be meant so.
func (a *App) warn(ctx context.Context) {
	for _, one := range a.found.Of(preflight.Warning) {
		a.log.WarnContext(ctx, "a server is not set up as it should be", "server", one.Server,
			"check", one.Name, "found", one.Found, "do", one.Do)
	}
}

// clockWithin bounds one look at all clocks, and warnEvery is how often one that is apart
// is told of.
const (
	clockWithin = time.Second
	warnEvery   = time.Minute
)

// watchClocks holds the clock against those of the servers until ctx ends.
func (a *App) watchClocks(ctx context.Context) {
	if a.embedded != nil {
		return // they go by this one
	}
	told := map[string]time.Time{}
	every(ctx, restoreInterval, func() { a.lookAtClocks(ctx, told) })
}

func (a *App) lookAtClocks(ctx context.Context, told map[string]time.Time) {
	within, cancel := context.WithTimeout(ctx, clockWithin)
	defer cancel()
	there := map[string]bool{}
	err := readClocks(within, a.clock, a.redis, redisName(a.cfg.Redis), a.store.Time, func(r clock.Reading) {
		there[r.Server] = true
		a.metrics.ClockOffset(r.Server, r.Ahead)
		f := preflight.Clock(r)
		if f.Level == preflight.Fine || time.Since(told[r.Server]) < warnEvery {
			return
		}
		told[r.Server] = time.Now()
		a.log.WarnContext(ctx, "clocks are apart", "server", f.Server, "found", f.Found, "do", f.Do)
	})
	if err != nil {
		return // one that is away is told of by what needs it
	}
	for _, server := range a.clock.Forget(there) {
		a.metrics.ForgetClock(server)
	}
}

// sameTime is an error while the clocks are too far apart to serve by.
func (a *App) sameTime() error {
	if f := preflight.Clock(a.clock.Worst()); f.Level == preflight.Refused {
		return fmt.Errorf("clocks are apart: %s", f)
	}
	return nil
}
