package harness

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/lock/redislock"
)

// NewLocker returns a locker of this program, as each process has one. A call of it may take as long as a step: a
// busy server shows no anomaly.
func (run *Run) NewLocker(backend lock.Backend, o lock.Options) *Locker {
	o.Logger, o.Poll, o.Timeout = quiet, 5*time.Millisecond, stepLimit
	w := &observedBackend{Backend: backend, run: run}
	l, err := lock.New(w, o)
	run.Must(err)
	run.OnStop(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		_ = l.Close(ctx)
	})
	return &Locker{l, w}
}

// Locker is one of this program's lockers.
type Locker struct {
	*lock.Locker
	backend *observedBackend
}

// Refused returns how often the server refused a key that was held.
func (l *Locker) Refused() int64 { return l.backend.refused.Load() }

var quiet = slog.New(slog.DiscardHandler)

// Use sets the locker of the actor. Actors that share one queue locally, as goroutines
// of one process do.
func (a *Actor) Use(l *Locker) { a.locker = l }

// longWait is longer than any step takes.
const longWait = 30 * time.Second

// Lock acquires this program's own lock, and waits for it.
func (a *Actor) Lock(key string) { a.must("lock "+key, a.TryLock(key, longWait)) }

// TryLock acquires this program's own lock, and waits at most so long.
func (a *Actor) TryLock(key string, wait time.Duration) error {
	if a.locker == nil {
		a.Use(a.run.NewLocker(redislock.New(a.run.Redis(), redislock.Options{Logger: quiet}), lock.Options{Lease: longWait}))
	}
	name := a.run.Key(key)
	waits := func(context.Context) bool {
		holder, held := a.run.holders.Load(name)
		return held && holder != a && wait > 0
	}
	return a.DoWaiting(Redis, Acquire, "LOCK "+key, waits, func(s *Step) error {
		lease, err := a.locker.Acquire(s.Ctx, name, lock.WithWait(wait))
		if err != nil {
			if errors.Is(err, lock.ErrNotAcquired) {
				s.Note("refused")
			}
			return fmt.Errorf("lock %s: %w", key, err)
		}
		a.run.holders.Store(name, a)
		a.leases[key] = lease
		s.Taken(key)
		s.Note("ours")
		return nil
	})
}

// Lease returns the lease that Lock acquired.
func (a *Actor) Lease(key string) *lock.Lease { return a.leases[key] }

// Unlock releases the lease. A lease that was lost already is no error.
func (a *Actor) Unlock(key string) {
	a.must("unlock "+key, a.Do(Redis, Release, "UNLOCK "+key, func(s *Step) error {
		a.run.holders.CompareAndDelete(a.run.Key(key), a)
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

// observedBackend counts the acquisitions that the server refused.
type observedBackend struct {
	lock.Backend
	run     *Run
	refused atomic.Int64
}

func (w *observedBackend) Acquire(ctx context.Context, key, token string, lease time.Duration) (lock.Grant, error) {
	grant, err := w.Backend.Acquire(ctx, key, token, lease)
	if errors.Is(err, lock.ErrHeld) {
		w.refused.Add(1)
	}
	return grant, err
}
