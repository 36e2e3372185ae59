package locktest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/testing/faultnet"
)

func (s suite) work(t *testing.T) {
	length := s.scaled(600 * time.Millisecond)
	errWork := errors.New("the work failed")

	t.Run("26 taken twice through the context and released once, it is still held", func(t *testing.T) {
		l, calls := s.spied(t, s.Server)
		outer := mustAcquire(t, l, aKey())
		before := calls.calls()
		inner, err := l.Acquire(outer.Context(), outer.Key())
		require.NoError(t, err)
		require.Equal(t, outer.Fence(), inner.Fence())
		require.NoError(t, inner.Release(t.Context()))
		require.ErrorIs(t, inner.Release(t.Context()), lock.ErrNotHeld)
		require.Equal(t, before, calls.calls(), "no remote call")
		require.NoError(t, outer.Context().Err())
		require.NotEmpty(t, s.Value(t, outer.Key()))
		require.NoError(t, outer.Release(t.Context()))
		require.Empty(t, s.Value(t, outer.Key()))
	})

	t.Run("26 a nested Do runs at once, with the same fence and no remote call", func(t *testing.T) {
		l, calls := s.spied(t, s.Server)
		key, ran := aKey(), false
		require.NoError(t, l.Do(t.Context(), key, func(ctx context.Context, outer *lock.Lease) error {
			before := calls.calls()
			err := l.Do(ctx, key, func(_ context.Context, inner *lock.Lease) error {
				ran = true
				assert.Equal(t, outer.Fence(), inner.Fence())
				return nil
			})
			assert.Equal(t, before, calls.calls())
			return err
		}))
		require.True(t, ran)
		require.Empty(t, s.Value(t, key))
	})

	t.Run("26 re-entry fails when the lease was lost", func(t *testing.T) {
		l := s.locker(t, lease(length))
		h := mustAcquire(t, l, aKey())
		s.Delete(t, h.Key())
		require.ErrorIs(t, ends(t, h.Context(), maxWait), lock.ErrLost)
		_, err := l.Acquire(h.Context(), h.Key())
		require.ErrorIs(t, err, lock.ErrLost)
	})

	t.Run("a second process does not enter through the context of the first", func(t *testing.T) {
		h := mustAcquire(t, s.locker(t), aKey())
		_, err := s.locker(t).Acquire(h.Context(), h.Key())
		require.ErrorIs(t, err, lock.ErrNotAcquired)
		require.NoError(t, h.Release(t.Context()))
	})

	t.Run("35 an unknown outcome keeps the key until its lease has run out, unrenewed", func(t *testing.T) {
		s.inOneOfThree(t, func() bool {
			l, calls := s.spied(t, s.Server, lease(length))
			key, began := aKey(), time.Now()
			err := l.Do(t.Context(), key, func(context.Context, *lock.Lease) error {
				return fmt.Errorf("commit: %w", lock.ErrOutcomeUnknown)
			})
			renewed := calls.renews.Load() // a work of no time may take long on a busy machine
			require.ErrorIs(t, err, lock.ErrOutcomeUnknown)
			kept := s.Value(t, key) != ""
			h, err := l.Acquire(t.Context(), key)
			if time.Since(began) >= length { // it may have run out
				_ = h.Release(t.Context())
				return false
			}
			require.True(t, kept)
			require.ErrorIs(t, err, lock.ErrNotAcquired)
			s.freeWithin(t, key, length+2*time.Second)
			require.Zero(t, calls.releases.Load())
			require.Equal(t, renewed, calls.renews.Load())
			return true
		})
	})

	t.Run("35 also when the outer work swallows it", func(t *testing.T) {
		s.inOneOfThree(t, func() bool {
			l, key, began := s.locker(t, lease(length)), aKey(), time.Now()
			require.NoError(t, l.Do(t.Context(), key, func(ctx context.Context, _ *lock.Lease) error {
				_ = l.Do(ctx, key, func(context.Context, *lock.Lease) error { return lock.ErrOutcomeUnknown })
				return nil
			}))
			kept := s.Value(t, key) != ""
			if time.Since(began) >= length {
				return false
			}
			require.True(t, kept)
			s.freeWithin(t, key, length+2*time.Second)
			return true
		})
	})

	t.Run("36 when the work panics, the key is freed and the panic raised again", func(t *testing.T) {
		l, key := s.locker(t), aKey()
		require.PanicsWithValue(t, "broken", func() {
			_ = l.Do(t.Context(), key, func(context.Context, *lock.Lease) error { panic("broken") })
		})
		require.Empty(t, s.Value(t, key))
	})

	t.Run("39 when the parent's context is cancelled in mid-work, the key is not freed until the work has returned", func(t *testing.T) {
		// As long as a busy machine needs: a lease that was lost is renewed no more.
		l, calls := s.spied(t, s.Server, lease(s.scaled(3*time.Second)))
		key := aKey()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		err := l.Do(ctx, key, func(ctx context.Context, _ *lock.Lease) error {
			cancel()
			<-ctx.Done()
			n := calls.renews.Load() // it is renewed as long as the work goes on
			eventually(t, func() bool { return calls.renews.Load() >= n+4 }, time.Minute, time.Millisecond)
			assert.NotEmpty(t, s.Value(t, key))
			return errWork
		})
		require.ErrorIs(t, err, errWork)
		require.Empty(t, s.Value(t, key))
	})

	t.Run("a failure of the work is answered as it is, and the key is freed", func(t *testing.T) {
		l, key := s.locker(t), aKey()
		err := l.Do(t.Context(), key, func(context.Context, *lock.Lease) error { return errWork })
		require.Equal(t, errWork, err)
		require.Empty(t, s.Value(t, key))
	})

	t.Run("work that succeeded stays a success when the lease was lost, which is counted once", func(t *testing.T) {
		var lost atomic.Int32
		key := aKey()
		l := s.connected(t, key, lease(length), hooks(lock.Hooks{Lost: func() { lost.Add(1) }}))
		require.NoError(t, l.Do(t.Context(), key, func(ctx context.Context, _ *lock.Lease) error {
			s.Delete(t, key)
			assert.ErrorIs(t, ends(t, ctx, maxWait), lock.ErrLost)
			return nil
		}))
		// The work hears of it first; the count follows.
		eventually(t, func() bool { return lost.Load() > 0 }, maxWait, time.Millisecond)
		require.EqualValues(t, 1, lost.Load())
	})

	s.proxied(t, "a release that failed does not turn success into an error, and is counted", func(t *testing.T, p *faultnet.Proxy) {
		var failed atomic.Int32
		l := s.lockerAt(t, p.Addr(), hooks(lock.Hooks{ReleaseFailed: func(err error) {
			failed.Add(1)
			assert.ErrorIs(t, err, lock.ErrUnavailable)
		}}))
		key := aKey()
		require.NoError(t, l.Do(t.Context(), key, func(context.Context, *lock.Lease) error { p.Cut(); return nil }))
		if !s.Session { // there cutting the connection is releasing the key
			require.EqualValues(t, 1, failed.Load())
		}
		require.NoError(t, p.Join())
		s.freeWithin(t, key, s.scaled(5*time.Second)+time.Second)
	})
}
