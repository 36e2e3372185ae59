package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/lock"
	"seckill/internal/lock/redislock"
	"seckill/internal/redisconn"
	"seckill/internal/servers"
)

// Redis is a plain client of the Redis of the experiments.
func (b *Bench) Redis() *redis.Client {
	if b.redis == nil {
		b.redis = b.Client(b.RedisAddr())
		b.OnStop(func() { forget(b.redis, b.prefix+"*", "seckill:{lock:*}:"+b.prefix+"*") })
	}
	return b.redis
}

// RedisAddr is the address of the Redis of the experiments.
func (b *Bench) RedisAddr() string {
	addr, err := b.places.Redis(b.ctx, b.needsReal)
	b.Must(err)
	return addr
}

// Client is a client of the Redis at addr that repeats nothing.
func (b *Bench) Client(addr string) *redis.Client {
	c, err := redisconn.Dial(redisconn.Options{Addrs: []string{addr}, Timeout: stepLimit})
	b.Must(err)
	b.OnStop(func() { _ = c.Close() })
	single, _ := c.(*redis.Client) // of one address it makes no other
	return single
}

// forget deletes the keys that a case left.
func forget(client *redis.Client, patterns ...string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	for _, pattern := range patterns {
		for keys := client.Scan(ctx, 0, pattern, 1000).Iterator(); keys.Next(ctx); {
			_ = client.Del(ctx, keys.Val()).Err()
		}
	}
}

// Forget deletes the keys of a pattern.
func (b *Bench) Forget(pattern string) { forget(b.redis, pattern) }

// Redis is a step with a plain command.
func (a *Actor) Redis(kind Kind, what string, do func(s *Step, c *redis.Client) error) {
	a.must(what, a.TryRedis(kind, what, do))
}

// TryRedis is Redis for a step that may fail.
func (a *Actor) TryRedis(kind Kind, what string, do func(s *Step, c *redis.Client) error) error {
	c := a.b.Redis()
	return a.Do(Redis, kind, what, func(s *Step) error { return do(s, c) })
}

// StallsUntilGone is a step in which the actor stands still (a long garbage
// collection, a paused machine) until the server has let the key run out.
func (a *Actor) StallsUntilGone(key string) {
	a.must("stall", a.Do(Process, Trouble, "stalls until the lease of "+key+" has run out", func(s *Step) error {
		s.End(LeaseSpan, key)
		_, err := a.b.untilGone(s.Ctx, key, stepLimit)
		return err
	}))
}

// StallsPast is StallsUntilGone for a lease that is too long to be waited for: the
// server is told to end it now. What comes before the stall is in time on any machine.
func (a *Actor) StallsPast(key string) {
	a.must("stall", a.Do(Process, Trouble, "stalls until the lease of "+key+" has run out", func(s *Step) error {
		s.End(LeaseSpan, key)
		for _, name := range a.b.names(key) {
			if err := a.b.Redis().PExpire(s.Ctx, name, time.Millisecond).Err(); err != nil {
				return fmt.Errorf("end the lease of %s: %w", key, err)
			}
		}
		_, err := a.b.untilGone(s.Ctx, key, stepLimit)
		return err
	}))
}

// untilGone waits until nobody has the key, and says false if the limit came first.
func (b *Bench) untilGone(ctx context.Context, key string, limit time.Duration) (bool, error) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	names := b.names(key)
	for began := time.Now(); time.Since(began) < limit; {
		n, err := b.Redis().Exists(ctx, names...).Result()
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

// lockBuckets is how many slots this program's locks are spread over.
const lockBuckets = 64

// names are the keys that a lock of this name may have: a plain one, and this
// program's own in one of its buckets.
func (b *Bench) names(key string) []string {
	all := []string{b.Key(key)}
	for bucket := range lockBuckets {
		all = append(all, fmt.Sprintf("seckill:{lock:%d}:%s", bucket, b.Key(key)))
	}
	return all
}

// Left is how long the server will still keep the lock of that name; 0 if nobody has
// it.
func (b *Bench) Left(key string) (left time.Duration) {
	for _, name := range b.names(key) {
		d, err := b.Redis().PTTL(b.ctx, name).Result()
		b.Must(err)
		left = max(left, d)
	}
	return left
}

// Enters is the step that begins what only one may do at a time.
func (a *Actor) Enters() {
	_ = a.Do(Process, Work, "goes in", func(s *Step) error {
		a.b.inside.Add(1)
		s.Open(InsideSpan, "inside")
		return nil
	})
}

// Leaves is the step that ends it.
func (a *Actor) Leaves() {
	_ = a.Do(Process, Work, "comes out", func(s *Step) error {
		a.b.inside.Add(-1)
		s.End(InsideSpan, "")
		return nil
	})
}

// NewLocker makes one of this program's lockers, as a process has one.
func (b *Bench) NewLocker(backend lock.Backend, o lock.Options) *Locker {
	o.Logger, o.Poll = quiet, 5*time.Millisecond
	w := &watched{Backend: backend, b: b}
	l, err := lock.New(w, o)
	b.Must(err)
	b.OnStop(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		_ = l.Close(ctx)
	})
	return &Locker{l, w}
}

// Locker is one of this program's lockers.
type Locker struct {
	*lock.Locker
	watched *watched
}

// InVain is how often it asked the server for a key that another had.
func (l *Locker) InVain() int64 { return l.watched.refused.Load() }

var quiet = slog.New(slog.DiscardHandler)

// Uses gives the actor a locker; one that several use lets them queue locally, as
// goroutines of one process.
func (a *Actor) Uses(l *Locker) { a.locker = l }

// patient is longer than anything here takes.
const patient = 30 * time.Second

// Lock takes the program's own lock, and waits for it.
func (a *Actor) Lock(key string) { a.must("lock "+key, a.TryLock(key, patient)) }

// TryLock takes the program's own lock, and waits at most so long.
func (a *Actor) TryLock(key string, wait time.Duration) error {
	if a.locker == nil {
		a.Uses(a.b.NewLocker(redislock.New(a.b.Redis(), redislock.Options{Logger: quiet}), lock.Options{Lease: patient}))
	}
	name := a.b.Key(key)
	waits := func(context.Context) bool {
		holder, held := a.b.holders.Load(name)
		return held && holder != a && wait > 0
	}
	return a.DoWaiting(Redis, Take, "LOCK "+key, waits, func(s *Step) error {
		lease, err := a.locker.Acquire(s.Ctx, name, lock.WithWait(wait))
		if err != nil {
			if errors.Is(err, lock.ErrNotAcquired) {
				s.Note("refused")
			}
			return fmt.Errorf("lock %s: %w", key, err)
		}
		a.b.holders.Store(name, a)
		a.leases[key] = lease
		s.Open(LeaseSpan, key)
		s.Note("ours")
		return nil
	})
}

// Lease is the lease that Lock took.
func (a *Actor) Lease(key string) *lock.Lease { return a.leases[key] }

// Unlock gives it up; that it was lost already is no error.
func (a *Actor) Unlock(key string) {
	a.must("unlock "+key, a.Do(Redis, Free, "UNLOCK "+key, func(s *Step) error {
		a.b.holders.CompareAndDelete(a.b.Key(key), a)
		err := a.leases[key].Release(s.Ctx)
		s.End(LeaseSpan, key)
		if errors.Is(err, lock.ErrNotHeld) {
			s.Note("not ours: nothing freed")
			return nil
		}
		s.Note("free")
		return err
	}))
}

// watched counts what the server refused.
type watched struct {
	lock.Backend
	b       *Bench
	refused atomic.Int64
}

func (w *watched) Acquire(ctx context.Context, key, token string, lease time.Duration) (lock.Grant, error) {
	grant, err := w.Backend.Acquire(ctx, key, token, lease)
	if errors.Is(err, lock.ErrHeld) {
		w.refused.Add(1)
	}
	return grant, err
}

// WaitsAtMost is a step in which the actor waits for a key to go, and no longer than
// limit.
func (a *Actor) WaitsAtMost(key string, limit time.Duration) {
	a.Redis(Read, "waits for "+key, func(s *Step, _ *redis.Client) error {
		gone, err := a.b.untilGone(s.Ctx, key, limit)
		if s.Note("it is free"); !gone {
			s.Note("still there after %v", limit)
		}
		return err
	})
}

// WorksFor is a step that takes so long: only for work that has to outlast a lease.
func (a *Actor) WorksFor(what string, d time.Duration) {
	a.Must(Process, Work, what, func(s *Step) error {
		select {
		case <-time.After(d):
		case <-s.Ctx.Done():
		}
		return s.Ctx.Err()
	})
}

// PrivateRedis starts a Redis that the case may harm.
func (b *Bench) PrivateRedis(settings ...servers.Setting) *servers.Redis {
	r, err := b.places.PrivateRedis(b.ctx, settings...)
	b.Must(err)
	b.OnStop(func() { _ = r.Kill() })
	return r
}

// Eventually waits, before the play begins, for a server to be ready.
func (b *Bench) Eventually(what string, ready func() bool) {
	for began := time.Now(); !ready(); <-time.After(2 * time.Millisecond) {
		if time.Since(began) > stepLimit || b.ctx.Err() != nil {
			b.Must(fmt.Errorf("this did not come about: %s", what))
		}
	}
}
