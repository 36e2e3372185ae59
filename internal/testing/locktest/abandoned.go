package locktest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/lock"
)

// abandoned is about calls that arrive after their callers gave up.
func (s suite) abandoned(t *testing.T) {
	if s.Unproxied {
		return
	}
	long := lease(s.scaled(90 * time.Second)) // the longest that RedLock gives, nearly

	t.Run("of two hundred acquires that are cancelled while the server stands still, nothing is left", func(t *testing.T) {
		p := NewStallProxy(t, s.Server)
		l := s.lockerAt(t, p.Addr(), long)
		s.warm(t, l)
		keys := someKeys(200)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		goOn := p.Stall()
		var all sync.WaitGroup
		for _, key := range keys {
			all.Go(func() { _, _ = l.Acquire(ctx, key) })
		}
		<-ctx.Done()
		<-time.After(300 * time.Millisecond)
		goOn()
		all.Wait()
		s.becomeFree(t, time.Minute, keys...)
	})

	t.Run("a key is freed also if the server stands still for longer than a call may take", func(t *testing.T) {
		p, key := NewStallProxy(t, s.Server), aKey()
		l := s.lockerAt(t, p.Addr(), long, timeout(200*time.Millisecond))
		s.warm(t, l)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		goOn := p.Stall()
		_, err := l.Acquire(ctx, key)
		require.ErrorIs(t, err, lock.ErrNotAcquired)
		<-time.After(1250 * time.Millisecond)
		goOn()
		s.becomeFree(t, time.Minute, key)
	})

	t.Run("closing takes no longer for two hundred keys while the server stands still", func(t *testing.T) {
		p := NewStallProxy(t, s.Server)
		l := s.lockerAt(t, p.Addr(), long)
		s.warm(t, l)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		defer p.Stall()()
		var all sync.WaitGroup
		for _, key := range someKeys(200) {
			all.Go(func() { _, _ = l.Acquire(ctx, key) })
		}
		all.Wait()
		began := time.Now()
		require.NoError(t, l.Close(context.WithoutCancel(t.Context())))
		// A second is promised. A busy machine gets more, which is less than the tries for all keys would take.
		require.Less(t, time.Since(began), 5*time.Second)
	})
}

// becomeFree waits until all keys were free for a while in which what is late arrives, and fails
// the test if one is held after so long. A busy machine has time for that, but less than their leases.
func (s suite) becomeFree(t testing.TB, within time.Duration, keys ...string) {
	t.Helper()
	began, free := time.Now(), time.Now()
	for time.Since(free) < 400*time.Millisecond {
		for _, key := range keys {
			if s.Value(t, key) != "" {
				free = time.Now()
			}
		}
		require.Less(t, free.Sub(began), within, "keys are held without a holder")
		time.Sleep(10 * time.Millisecond)
	}
}

// lateTry is about backends that ask once more when the answer to an acquire is lost.
func (s suite) lateTry(t *testing.T) {
	if s.Unproxied {
		return
	}
	t.Run("a first try that arrives after the release of the second leaves nothing", func(t *testing.T) {
		for skip := range 10 {
			p, key := NewStallProxy(t, s.Server), aKey()
			l := s.lockerAt(t, p.Addr(), lease(s.scaled(30*time.Second)))
			s.warm(t, l)
			deliver := p.Hold(skip)
			h, err := l.Acquire(t.Context(), key)
			if err == nil {
				require.NoError(t, h.Release(t.Context()))
			} else { // a backend may also say that it does not know, and clean up
				require.ErrorIs(t, err, lock.ErrUnavailable)
			}
			if !deliver() {
				require.Positive(t, skip, "no call was late")
				return
			}
			s.freeWithin(t, key, 10*time.Second)
		}
	})

	t.Run("and so does one of a waiter that was refused in the end", func(t *testing.T) {
		p, key := NewStallProxy(t, s.Server), aKey()
		l := s.lockerAt(t, p.Addr(), lease(s.scaled(30*time.Second)))
		s.warm(t, l)
		other := mustAcquire(t, s.locker(t), key)
		deliver := p.Hold(0)
		_, err := l.Acquire(t.Context(), key)
		require.Error(t, err)
		require.NoError(t, other.Release(t.Context()))
		require.True(t, deliver(), "no call was late")
		s.freeWithin(t, key, 10*time.Second)
	})
}
