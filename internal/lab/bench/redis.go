package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/lock"
	"seckill/internal/lock/redislock"
)

// Redis is a plain client of the Redis of the experiments.
func (b *Bench) Redis() *redis.Client {
	if b.redis == nil {
		b.redis = b.Client(b.RedisAddr())
		client, mine := b.redis, b.prefix
		b.OnStop(func() { sweep(client, mine) })
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
	c := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, ContextTimeoutEnabled: true, DisableIdentity: true})
	b.OnStop(func() { _ = c.Close() })
	return c
}

// sweep deletes the keys that a case left.
func sweep(client *redis.Client, prefix string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	for _, pattern := range []string{prefix + "*", "seckill:{lock:*}:" + prefix + "*"} {
		for keys := client.Scan(ctx, 0, pattern, 1000).Iterator(); keys.Next(ctx); {
			_ = client.Del(ctx, keys.Val()).Err()
		}
	}
}

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
	c := a.b.Redis()
	a.must("stall", a.Do(Process, Trouble, "stalls until the lease of "+key+" has run out", func(s *Step) error {
		s.End(LeaseSpan, key)
		_, err := untilGone(s.Ctx, c, a.b.Key(key), stepLimit)
		return err
	}))
}

// untilGone waits until there is no such key, and says false if the limit came first.
func untilGone(ctx context.Context, c *redis.Client, key string, limit time.Duration) (bool, error) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for began := time.Now(); time.Since(began) < limit; {
		n, err := c.Exists(ctx, key).Result()
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

// Locker is a locker of this program's for the actor, as a process has one.
func (a *Actor) Locker(backend lock.Backend, o lock.Options) *lock.Locker {
	o.Logger = slog.New(slog.DiscardHandler)
	l, err := lock.New(watched{backend, a}, o)
	a.must("make a locker", err)
	a.b.OnStop(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		_ = l.Close(ctx)
	})
	a.locker = l
	return l
}

// patient is longer than anything here takes.
const patient = 30 * time.Second

// Lock takes the program's own lock, and waits for it.
func (a *Actor) Lock(key string) { a.must("lock "+key, a.TryLock(key, patient)) }

// TryLock takes the program's own lock, and waits at most so long.
func (a *Actor) TryLock(key string, wait time.Duration) error {
	if a.locker == nil {
		backend := redislock.New(a.b.Redis(), redislock.Options{Logger: slog.New(slog.DiscardHandler)})
		a.Locker(backend, lock.Options{Lease: patient, Poll: 5 * time.Millisecond})
	}
	return a.wait(Redis, Take, "LOCK "+key, a.waitsForLock, func(s *Step) error {
		lease, err := a.locker.Acquire(s.Ctx, a.b.Key(key), lock.WithWait(wait))
		if err != nil {
			if errors.Is(err, lock.ErrNotAcquired) {
				s.Note("refused")
			}
			return fmt.Errorf("lock %s: %w", key, err)
		}
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

// waitsForLock says whether the locker was refused a key that somebody still has.
func (a *Actor) waitsForLock(context.Context) bool {
	key := a.asking.Load()
	if key == nil {
		return false
	}
	_, held := a.b.holders.Load(*key)
	return held
}

// watched tells the bench who has a key and who asks for it.
type watched struct {
	lock.Backend
	actor *Actor
}

func (w watched) Acquire(ctx context.Context, key, token string, lease time.Duration) (lock.Grant, error) {
	grant, err := w.Backend.Acquire(ctx, key, token, lease)
	switch {
	case err == nil:
		w.actor.b.holders.Store(key, w.actor)
		w.actor.asking.Store(nil)
	case errors.Is(err, lock.ErrHeld):
		w.actor.asking.Store(&key)
	}
	return grant, err
}

func (w watched) Release(ctx context.Context, key, token string) error {
	err := w.Backend.Release(ctx, key, token)
	w.actor.b.holders.CompareAndDelete(key, w.actor)
	return err
}

// WaitsAtMost is a step in which the actor waits for a key to go, and no longer than
// limit.
func (a *Actor) WaitsAtMost(key string, limit time.Duration) {
	a.Redis(Read, "waits for "+key, func(s *Step, c *redis.Client) error {
		gone, err := untilGone(s.Ctx, c, a.b.Key(key), limit)
		if s.Note("it is free"); !gone {
			s.Note("still there after %v", limit)
		}
		return err
	})
}
