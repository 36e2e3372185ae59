package locktest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/lock"
)

// RunClock runs the part of the list that needs a server whose time of day can be
// moved. A server that reckons leases by a monotonic clock has no need of it.
func RunClock(t *testing.T, h Harness, move func(t testing.TB, by time.Duration)) {
	s := suite{Harness: h}
	length := s.scaled(1500 * time.Millisecond)

	t.Run("a clock that goes back does not let two in, and the fence grows", func(t *testing.T) {
		l, key := s.locker(t, lease(length)), aKey()
		first := mustAcquire(t, l, key)
		require.NoError(t, first.Release(t.Context()))
		held := mustAcquire(t, l, key)
		move(t, -time.Hour)
		defer move(t, 0)
		_, err := s.locker(t).Acquire(t.Context(), key, lock.WithWait(length))
		require.ErrorIs(t, err, lock.ErrNotAcquired)
		require.NoError(t, held.Context().Err())
		require.NoError(t, held.Release(t.Context()))
		next := mustAcquire(t, s.locker(t), key)
		require.Greater(t, held.Fence(), first.Fence())
		require.Greater(t, next.Fence(), held.Fence())
		require.NoError(t, next.Release(t.Context()))
	})

	t.Run("a key that was taken before the clock went back is free when its holder dies", func(t *testing.T) {
		key := aKey()
		_, err := s.Dial(t, s.Server).Acquire(t.Context(), key, "killed", length)
		require.NoError(t, err)
		move(t, -length)
		defer move(t, 0)
		h := mustAcquire(t, s.locker(t), key, lock.WithWait(time.Minute))
		require.NoError(t, h.Release(t.Context()))
	})

	t.Run("when the clock jumps ahead, the holder hears of it within a renewal interval, and is refused by the fence", func(t *testing.T) {
		key := aKey()
		longer := 4 * length // so that a busy machine may be late by a second
		held := mustAcquire(t, s.locker(t, lease(longer)), key)
		move(t, time.Hour)
		defer move(t, 0)
		next := mustAcquire(t, s.locker(t), key)
		require.Greater(t, next.Fence(), held.Fence())
		require.ErrorIs(t, ends(t, held.Context(), longer/3+longer/4), lock.ErrLost)
		require.ErrorIs(t, held.Release(t.Context()), lock.ErrNotHeld)
		require.NoError(t, next.Context().Err())
		require.NoError(t, next.Release(t.Context()))
	})
}
