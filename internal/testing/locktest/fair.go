package locktest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/lock"
)

// fair is about waiters of different processes.
func (s suite) fair(t *testing.T) {
	if s.Line == nil {
		return
	}
	soon := s.PlaceTTL / 2 // before a place could have run out by itself

	t.Run("17 eight waiters of eight processes are served in the order they came", func(t *testing.T) {
		key := aKey()
		h := mustAcquire(t, s.locker(t), key)
		var order []int // guarded by the lock itself
		var all sync.WaitGroup
		for i := range 8 {
			l := s.locker(t, wait(time.Minute))
			all.Go(func() {
				assert.NoError(t, l.Do(t.Context(), key, func(context.Context, *lock.Lease) error {
					order = append(order, i)
					assert.Equal(t, 8-len(order), s.Line(t, key), "whoever is served has left the line")
					return nil
				}))
			})
			s.standInLine(t, key, i+1)
		}
		require.NoError(t, h.Release(t.Context()))
		all.Wait()
		require.True(t, slices.IsSorted(order), "%v", order)
		require.Len(t, order, 8)
	})

	t.Run("17 a free key is not given to somebody whose turn it is not", func(t *testing.T) {
		b := s.Dial(t, s.Server).(lock.FairBackend)
		for {
			key := aKey()
			h, began := mustAcquire(t, s.locker(t), key), time.Now()
			_, first := b.AcquireInTurn(t.Context(), key, "first", time.Minute)
			_, second := b.AcquireInTurn(t.Context(), key, "second", time.Minute)
			require.NoError(t, h.Release(t.Context()))
			_, stranger := s.locker(t).Acquire(t.Context(), key)
			_, early := b.AcquireInTurn(t.Context(), key, "second", time.Minute)
			_, inTurn := b.AcquireInTurn(t.Context(), key, "first", time.Minute)
			s.Delete(t, key)
			if time.Since(began) >= s.PlaceTTL {
				continue // on a busy machine the place of the first may have run out
			}
			require.ErrorIs(t, first, lock.ErrHeld)
			require.ErrorIs(t, second, lock.ErrHeld)
			require.ErrorIs(t, stranger, lock.ErrNotAcquired)
			var held *lock.HeldError
			require.ErrorAs(t, early, &held)
			require.Positive(t, held.Remaining, "so long may the first still come")
			require.LessOrEqual(t, held.Remaining, s.PlaceTTL+time.Millisecond, "a server's milliseconds are rounded up")
			require.NoError(t, inTurn)
			return
		}
	})

	t.Run("18 a waiter that died holds up the others no longer than its place lasts", func(t *testing.T) {
		b, key := s.Dial(t, s.Server).(lock.FairBackend), aKey()
		h := mustAcquire(t, s.locker(t), key)
		for _, dead := range []string{"one", "another"} {
			_, err := b.AcquireInTurn(t.Context(), key, dead, time.Minute)
			require.ErrorIs(t, err, lock.ErrHeld)
		}
		died := time.Now()
		require.NoError(t, h.Release(t.Context()))
		next := mustAcquire(t, s.locker(t), key, lock.WithWait(5*s.PlaceTTL))
		require.Less(t, time.Since(died), 2*s.PlaceTTL, "one after the other would take so long")
		require.NoError(t, next.Release(t.Context()))
	})

	t.Run("18 waiters that gave up do not hold up those of other processes", func(t *testing.T) {
		key := aKey()
		h := mustAcquire(t, s.locker(t), key)
		ctx, cancel := context.WithCancel(t.Context())
		var gone sync.WaitGroup
		for i := range 5 {
			l, made := s.spied(t, s.Server, wait(time.Minute), poll(time.Minute))
			gone.Go(func() { _, err := l.Acquire(ctx, key); assert.ErrorIs(t, err, lock.ErrNotAcquired) })
			s.standInLine(t, key, i+1)
			// It asks once more when it has subscribed, and sleeps then. The call of one that gives up while it asks may
			// come after the call that undoes it, and its place runs out by itself.
			eventually(t, func() bool { return made.acquires.Load() == 2 }, maxWait, time.Millisecond)
		}
		got := acquiresAndReleases(t, s.locker(t, wait(time.Minute)), key)
		s.standInLine(t, key, 6)
		cancel()
		gone.Wait()
		released := time.Now()
		require.NoError(t, h.Release(t.Context()))
		require.NoError(t, <-got)
		require.Less(t, time.Since(released), soon)
	})

	t.Run("19 a waiter that gave up leaves no entry in the line", func(t *testing.T) {
		key := aKey()
		waiter := s.connected(t, key, poll(time.Minute)) // it gives up asleep, not while it asks
		h := mustAcquire(t, s.locker(t), key)
		gaveUp := time.Now()
		_, err := waiter.Acquire(t.Context(), key, lock.WithWait(s.PlaceTTL/3))
		require.ErrorIs(t, err, lock.ErrNotAcquired)
		eventually(t, func() bool { return s.Line(t, key) == 0 }, soon, time.Millisecond)
		require.Less(t, time.Since(gaveUp), s.PlaceTTL)
		_, err = s.locker(t).Acquire(t.Context(), key)
		require.ErrorIs(t, err, lock.ErrNotAcquired)
		require.Zero(t, s.Line(t, key), "who does not wait has no place at all")
		require.NoError(t, h.Release(t.Context()))
	})

	t.Run("19 of waiters that died nothing is left", func(t *testing.T) {
		b, key := s.Dial(t, s.Server).(lock.FairBackend), aKey()
		h := mustAcquire(t, s.locker(t), key)
		_, err := b.AcquireInTurn(t.Context(), key, "dead", time.Minute)
		require.ErrorIs(t, err, lock.ErrHeld)
		require.Equal(t, 1, s.Line(t, key))
		eventually(t, func() bool { return s.Line(t, key) == 0 }, s.PlaceTTL+soon, 5*time.Millisecond)
		require.NoError(t, h.Release(t.Context()))
	})

	t.Run("a waiter keeps its place for as long as it asks", func(t *testing.T) {
		b, key := s.Dial(t, s.Server).(lock.FairBackend), aKey()
		h := mustAcquire(t, s.locker(t), key)
		l, got, seen := s.locker(t, wait(time.Minute)), make(chan error, 1), make(chan struct{})
		go func() {
			got <- l.Do(t.Context(), key, func(context.Context, *lock.Lease) error { <-seen; return nil })
		}()
		s.standInLine(t, key, 1)
		_, err := b.AcquireInTurn(t.Context(), key, "late", time.Minute)
		require.ErrorIs(t, err, lock.ErrHeld)
		asked := func() bool { // so that it comes next, should the other lose its place
			_, err = b.AcquireInTurn(t.Context(), key, "late", time.Minute)
			return !errors.Is(err, lock.ErrHeld) || s.Line(t, key) != 2
		}
		never(t, asked, s.PlaceTTL*3/2, 20*time.Millisecond)
		require.NoError(t, h.Release(t.Context()))
		_, err = b.AcquireInTurn(t.Context(), key, "late", time.Minute)
		close(seen)
		require.ErrorIs(t, err, lock.ErrHeld)
		require.NoError(t, <-got)
		require.ErrorIs(t, b.(lock.Backend).Release(t.Context(), key, "late"), lock.ErrNotHeld)
	})
}

// standInLine waits until n waiters do.
func (s suite) standInLine(t testing.TB, key string, n int) {
	t.Helper()
	eventually(t, func() bool { return s.Line(t, key) == n }, maxWait, time.Millisecond, "%d should stand in line", n)
}
