package app

import (
	"context"
	"sync"

	"example.com/seckill/internal/platform/preflight"
	"example.com/seckill/internal/platform/redisconn"
)

// redisWatch looks at each master of Redis as often as the heartbeat, by one INFO. The check at the start cannot
// know what an administrator sets later:
//
//	setting ─▶ as at the last look? ─▶ yes: nothing
//	                                ─▶ no: one line, a warning or that it is well again
//	evicted_keys ─▶ more than at the last look? ─▶ a warning, and seckill_redis_evicted_keys_total
type redisWatch struct {
	app *App

	mu      sync.Mutex
	atStart map[finding]bool   // the log has them
	told    map[finding]string // what was wrong at the last look; empty: nothing
	evicted map[string]int64   // by server
}

// finding names a line about a server.
type finding struct{ server, name string }

// watchRedis looks at the masters of Redis until ctx ends.
func (a *App) watchRedis(ctx context.Context) {
	if a.embedded != nil {
		return
	}
	w := newRedisWatch(a)
	every(ctx, restoreInterval, func() { w.look(ctx) })
}

func newRedisWatch(a *App) *redisWatch {
	w := &redisWatch{app: a, atStart: map[finding]bool{}, told: map[finding]string{}, evicted: map[string]int64{}}
	for _, one := range a.found.Of(preflight.Warning) {
		w.atStart[finding{one.Server, one.Name}] = true
	}
	return w
}

func (w *redisWatch) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, clockWithin)
	defer cancel()
	var found preflight.Findings
	a := w.app
	// The heartbeat tells of a server that does not answer.
	_ = redisconn.EachPrimary(ctx, a.redis, redisName(a.cfg.Redis), found.RedisAtWork(func(server string, keys int64) {
		w.noteEvicted(ctx, server, keys)
	}))
	for _, one := range found.Of(preflight.Fine, preflight.Warning, preflight.Refused) {
		w.note(ctx, one)
	}
}

// note logs a finding that is not as it was at the last look.
func (w *redisWatch) note(ctx context.Context, one preflight.Finding) {
	of, now := finding{one.Server, one.Name}, one.Found
	if one.Level == preflight.Fine {
		now = ""
	}
	before, looked := w.told[of]
	w.told[of] = now
	if before == now || !looked && w.atStart[of] {
		return
	}
	if now == "" {
		w.app.log.InfoContext(ctx, "a server is set up as it should be again", "server", one.Server, "check", one.Name, "found", one.Found)
		return
	}
	w.app.log.WarnContext(ctx, "a server is not set up as it should be", "server", one.Server, "check", one.Name, "found", now, "do", one.Do)
}

// noteEvicted compares with the last look. A server that was restarted counts from zero.
func (w *redisWatch) noteEvicted(ctx context.Context, server string, keys int64) {
	w.mu.Lock()
	before, known := w.evicted[server]
	w.evicted[server] = keys
	w.mu.Unlock()
	if !known || keys <= before {
		w.app.metrics.AddEvicted(server, 0)
		return
	}
	w.app.metrics.AddEvicted(server, keys-before)
	w.app.log.WarnContext(ctx, "Redis evicted keys", "server", server, "keys", keys-before)
}
