package locktest

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/lock"
)

func (s suite) handles(t *testing.T) {
	t.Run("1 a key can be locked, unlocked and locked again", func(t *testing.T) {
		l, key := s.locker(t), aKey()
		for range 3 {
			h := mustAcquire(t, l, key)
			require.NotEmpty(t, s.Value(t, key))
			require.NoError(t, h.Release(t.Context()))
			require.Empty(t, s.Value(t, key))
		}
	})

	t.Run("2 a try for a held key is answered at once and leaves the holder's lease alone", func(t *testing.T) {
		key := aKey()
		h := mustAcquire(t, s.locker(t, lease(s.scaled(30*time.Second))), key)
		value := s.Value(t, key)
		var before time.Duration
		if s.Remaining != nil {
			before = s.Remaining(t, key)
		}
		began := time.Now()
		_, err := s.locker(t, lease(s.scaled(60*time.Second))).Acquire(t.Context(), key)
		require.ErrorIs(t, err, lock.ErrNotAcquired)
		require.Less(t, time.Since(began), time.Second)
		require.Equal(t, value, s.Value(t, key))
		if s.Remaining != nil {
			require.LessOrEqual(t, s.Remaining(t, key), before)
		}
		require.NoError(t, h.Release(t.Context()))
	})

	t.Run("3 of 100 tries at once exactly one wins", func(t *testing.T) {
		key := aKey()
		processes := []*lock.Locker{s.locker(t), s.locker(t), s.locker(t), s.locker(t)}
		var won, lost atomic.Int32
		var winner atomic.Pointer[lock.Lease]
		together(100, func(i int) {
			h, err := processes[i%len(processes)].Acquire(t.Context(), key)
			if err == nil {
				won.Add(1)
				winner.Store(h)
			} else if assert.ErrorIs(t, err, lock.ErrNotAcquired) {
				lost.Add(1)
			}
		})
		require.EqualValues(t, 1, won.Load())
		require.EqualValues(t, 99, lost.Load())
		require.NoError(t, winner.Load().Release(t.Context()))
	})

	t.Run("4 two keys are independent", func(t *testing.T) {
		a, b := s.locker(t), s.locker(t)
		one, two := mustAcquire(t, a, aKey()), mustAcquire(t, b, aKey())
		require.NoError(t, one.Release(t.Context()))
		require.NotEmpty(t, s.Value(t, two.Key()))
		require.NoError(t, two.Release(t.Context()))
	})

	t.Run("5 an unlock without a lock is not held, and nothing is written", func(t *testing.T) {
		b, key := s.Dial(t, s.Server), aKey()
		require.ErrorIs(t, b.Release(t.Context(), key, "nobody"), lock.ErrNotHeld)
		require.ErrorIs(t, b.Renew(t.Context(), key, "nobody", time.Minute), lock.ErrNotHeld)
		require.Empty(t, s.Value(t, key))
	})

	t.Run("6 the second unlock is not held, and another's lock survives it", func(t *testing.T) {
		a, b, key := s.locker(t), s.locker(t), aKey()
		h := mustAcquire(t, a, key)
		require.NoError(t, h.Release(t.Context()))
		require.ErrorIs(t, h.Release(t.Context()), lock.ErrNotHeld)
		other := mustAcquire(t, b, key)
		require.ErrorIs(t, h.Release(t.Context()), lock.ErrNotHeld)
		require.NoError(t, other.Release(t.Context()))
	})

	t.Run("7 a key overwritten by another is not held, and stays the other's", func(t *testing.T) {
		l, key := s.locker(t), aKey()
		h := mustAcquire(t, l, key)
		s.Overwrite(t, key)
		value := s.Value(t, key)
		err := h.Release(t.Context())
		require.ErrorIs(t, err, lock.ErrNotHeld)
		require.ErrorIs(t, err, lock.ErrLost)
		require.Equal(t, value, s.Value(t, key))
		s.Delete(t, key)
	})

	t.Run("8 an expired key and one taken by another are told apart", func(t *testing.T) {
		b, key, short := s.Dial(t, s.Server), aKey(), s.scaled(250*time.Millisecond)
		_, err := b.Acquire(t.Context(), key, "first", short)
		require.NoError(t, err)
		s.freeWithin(t, key, short+2*time.Second)
		err = b.Renew(t.Context(), key, "first", short)
		require.ErrorIs(t, err, lock.ErrNotHeld, "an expired lease is not revived")
		require.NotErrorIs(t, err, lock.ErrHeld)
		_, err = b.Acquire(t.Context(), key, "second", s.scaled(time.Minute))
		require.NoError(t, err)
		for _, err := range []error{
			b.Renew(t.Context(), key, "first", short),
			b.Release(t.Context(), key, "first"),
		} {
			require.ErrorIs(t, err, lock.ErrNotHeld)
			if s.TellsTaken {
				require.ErrorIs(t, err, lock.ErrHeld)
			}
		}
		require.NoError(t, b.Release(t.Context(), key, "second"))
	})

	t.Run("9 a nil handle does not panic", func(t *testing.T) {
		var h *lock.Lease
		require.Empty(t, h.Key())
		require.Zero(t, h.Fence())
		require.ErrorIs(t, context.Cause(h.Context()), lock.ErrNotHeld)
		require.ErrorIs(t, h.Release(t.Context()), lock.ErrNotHeld)
	})

	t.Run("10 ten processes add one thirty times to an unprotected value", func(t *testing.T) {
		key, g, value := aKey(), &gate{t: t}, 0
		var processes []*lock.Locker
		for range 10 {
			processes = append(processes, s.locker(t, wait(time.Minute), poll(5*time.Millisecond)))
		}
		together(10, func(i int) {
			for range 30 {
				err := processes[i].Do(t.Context(), key, func(context.Context, *lock.Lease) error {
					g.pass(func() { value++ })
					return nil
				})
				if !assert.NoError(t, err) {
					return
				}
			}
		})
		require.Equal(t, 300, value)
		require.Equal(t, 1, g.most)
	})

	t.Run("a lease under a millisecond, an empty key and a negative wait are errors", func(t *testing.T) {
		l := s.locker(t)
		for name, f := range map[string]func() error{
			"lease": func() error {
				_, err := l.Acquire(t.Context(), aKey(), lock.WithLease(999*time.Microsecond))
				return err
			},
			"key":           func() error { _, err := l.Acquire(t.Context(), ""); return err },
			"wait":          func() error { _, err := l.Acquire(t.Context(), aKey(), lock.WithWait(-1)); return err },
			"default lease": func() error { _, err := lock.New(s.Dial(t, s.Server), lock.Options{}); return err },
			"default wait": func() error {
				_, err := lock.New(s.Dial(t, s.Server), lock.Options{Lease: time.Second, Wait: -1})
				return err
			},
		} {
			err := f()
			require.Error(t, err, name)
			require.NotErrorIs(t, err, lock.ErrUnavailable, "the server is not even asked: %s", name)
		}
	})
}
