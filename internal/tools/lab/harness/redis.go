package harness

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/platform/redisconn"
	"example.com/seckill/internal/tools/servers"
)

// Redis returns a plain client of the Redis of the experiments.
func (run *Run) Redis() *redis.Client {
	if run.redis == nil {
		run.redis = run.Client(run.RedisAddr())
		run.OnStop(func() { forget(run.redis, run.prefix+"*", "seckill:{lock:*}:"+run.prefix+"*") })
	}
	return run.redis
}

// RedisAddr returns the address of the Redis of the experiments.
func (run *Run) RedisAddr() string {
	addr, err := run.servers.Redis(run.ctx, run.needsReal)
	run.Must(err)
	return addr
}

// Client returns a client of the Redis at addr that never retries.
func (run *Run) Client(addr string) *redis.Client {
	c, err := redisconn.Dial(redisconn.Options{Addrs: []string{addr}, Timeout: stepLimit})
	run.Must(err)
	run.OnStop(func() { _ = c.Close() })
	single, _ := c.(*redis.Client) // one address always makes a redis.Client
	return single
}

// forget deletes the keys that a case left.
func forget(client *redis.Client, patterns ...string) {
	ctx, cancel := context.WithTimeout(context.Background(), stepLimit)
	defer cancel()
	for _, pattern := range patterns {
		for keys := client.Scan(ctx, 0, pattern, 1000).Iterator(); keys.Next(ctx); {
			_ = client.Del(ctx, keys.Val()).Err()
		}
	}
}

// Forget deletes the keys that match a pattern.
func (run *Run) Forget(pattern string) { forget(run.redis, pattern) }

// Redis is a step with a plain Redis command.
func (a *Actor) Redis(kind Kind, what string, do func(s *Step, c *redis.Client) error) {
	a.must(what, a.TryRedis(kind, what, do))
}

// TryRedis is Redis for a step that may fail.
func (a *Actor) TryRedis(kind Kind, what string, do func(s *Step, c *redis.Client) error) error {
	c := a.run.Redis()
	return a.Do(Redis, kind, what, func(s *Step) error { return do(s, c) })
}

// StallUntilExpired is a step in which the actor stands still, as in a long garbage collection or on a
// paused machine. The step ends when the server has let the key expire.
func (a *Actor) StallUntilExpired(key string) {
	a.stall(key, func(*Step) error { return nil })
}

// StallPast is StallUntilExpired for a lease that is too long to wait for. It makes the server end the
// lease. So the steps before the stall are in time on any machine.
func (a *Actor) StallPast(key string) {
	a.stall(key, func(s *Step) error {
		for _, name := range a.run.names(key) {
			if err := a.run.Redis().PExpire(s.Ctx, name, time.Millisecond).Err(); err != nil {
				return fmt.Errorf("end the lease of %s: %w", key, err)
			}
		}
		return nil
	})
}

func (a *Actor) stall(key string, begin func(s *Step) error) {
	a.must("stall", a.Do(Process, Fault, "stalls until the lease of "+key+" has run out", func(s *Step) error {
		s.End(LeaseSpan, key)
		err := begin(s)
		if err == nil {
			_, err = a.run.awaitExpiry(s.Ctx, key, stepLimit)
		}
		return err
	}))
}

// awaitExpiry waits until the key is gone, and reports whether it was gone within the limit.
func (run *Run) awaitExpiry(ctx context.Context, key string, limit time.Duration) (bool, error) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	names := run.names(key)
	for began := time.Now(); time.Since(began) < limit; {
		n, err := run.Redis().Exists(ctx, names...).Result()
		if err != nil {
			return false, fmt.Errorf("look at %s: %w", key, err)
		}
		if n == 0 {
			return true, nil
		}
		<-tick.C
	}
	return false, nil
}

// lockBuckets is the number of slots over which this program's locks are spread.
const lockBuckets = 64

// names returns the keys that a lock of this name may have: a plain key, and a key of this program's locks
// in each of their buckets.
func (run *Run) names(key string) []string {
	all := []string{run.Key(key)}
	for bucket := range lockBuckets {
		all = append(all, fmt.Sprintf("seckill:{lock:%d}:%s", bucket, run.Key(key)))
	}
	return all
}

// TTL returns the remaining time of the lock of that name. It is 0 if the lock is free.
func (run *Run) TTL(key string) (left time.Duration) {
	for _, name := range run.names(key) {
		d, err := run.Redis().PTTL(run.ctx, name).Result()
		run.Must(err)
		left = max(left, d)
	}
	return left
}

// Enter is the step that begins a critical section.
func (a *Actor) Enter() {
	_ = a.Do(Process, Work, "goes in", func(s *Step) error {
		a.run.inside.Add(1)
		s.Open(InsideSpan, "inside")
		return nil
	})
}

// Leave is the step that ends the critical section.
func (a *Actor) Leave() {
	_ = a.Do(Process, Work, "comes out", func(s *Step) error {
		a.run.inside.Add(-1)
		s.End(InsideSpan, "")
		return nil
	})
}

// WaitAtMost is a step in which the actor waits for a key to disappear, at most for limit.
func (a *Actor) WaitAtMost(key string, limit time.Duration) {
	a.Redis(Read, "waits for "+key, func(s *Step, _ *redis.Client) error {
		gone, err := a.run.awaitExpiry(s.Ctx, key, limit)
		if !gone {
			s.Note("still there after %v", limit)
			return err
		}
		s.Note("it is free")
		s.Gone(key)
		return err
	})
}

// WorkFor is a step that takes the time d, for work that has to outlast a lease.
func (a *Actor) WorkFor(what string, d time.Duration) {
	a.workFor(what, d, func(*Step) {})
}

// WorkPast is WorkFor under a lock that may not last as long. The timeline shows whether the lease of the
// lock has run out meanwhile.
func (a *Actor) WorkPast(key, what string, d time.Duration) {
	a.workFor(what, d, func(s *Step) {
		if a.run.TTL(key) == 0 {
			s.Note("the lease of %s has run out meanwhile", key)
			s.Gone(key)
		}
	})
}

func (a *Actor) workFor(what string, d time.Duration, then func(s *Step)) {
	a.Must(Process, Work, what, func(s *Step) error {
		select {
		case <-time.After(d):
			then(s)
			return nil
		case <-s.Ctx.Done():
			return s.Ctx.Err()
		}
	})
}

// PrivateRedis starts a Redis that the case may harm.
func (run *Run) PrivateRedis(settings ...servers.Setting) *servers.Redis {
	r, err := run.servers.PrivateRedis(run.ctx, settings...)
	run.Must(err)
	run.OnStop(func() { _ = r.Kill() })
	return r
}
