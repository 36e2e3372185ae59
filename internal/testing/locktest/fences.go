package locktest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/lock"
)

func (s suite) fences(t *testing.T) {
	if !s.Fence {
		return
	}
	t.Run("the fence is larger for every next holder", func(t *testing.T) {
		a, b, key, last := s.locker(t), s.locker(t), aKey(), uint64(0)
		for i := range 20 {
			h := mustAcquire(t, []*lock.Locker{a, b}[i%2], key)
			require.Greater(t, h.Fence(), last)
			last = h.Fence()
			require.NoError(t, h.Release(t.Context()))
		}
	})

	t.Run("the counter can be lifted above a fence that the database has seen, and is never lowered", func(t *testing.T) {
		if !s.AdvancesFence {
			return
		}
		l, key := s.locker(t), aKey()
		h := mustAcquire(t, l, key)
		require.NoError(t, h.Release(t.Context()))
		for _, seen := range []uint64{h.Fence() + 1<<40, 1<<53 + 1, 1<<62 + 1} {
			require.NoError(t, l.AdvanceFence(t.Context(), key, seen))
			require.NoError(t, l.AdvanceFence(t.Context(), key, 7))
			h := mustAcquire(t, l, key)
			require.Greater(t, h.Fence(), seen)
			require.NoError(t, h.Release(t.Context()))
		}
		require.Error(t, l.AdvanceFence(t.Context(), key, 1<<63))
	})
}

// flushed is about a server that loses everything.
func (s suite) flushed(t *testing.T) {
	if s.Flush == nil {
		return
	}
	t.Run("the fence goes on growing after the server lost everything", func(t *testing.T) {
		if !s.Fence || !s.FenceOutlivesData {
			return
		}
		l, key := s.locker(t), aKey()
		h := mustAcquire(t, l, key)
		s.Flush(t)
		require.ErrorIs(t, h.Release(t.Context()), lock.ErrLost)
		next := mustAcquire(t, l, key)
		require.Greater(t, next.Fence(), h.Fence())
		require.NoError(t, next.Release(t.Context()))
	})

	t.Run("23 the holder's context ends within a renewal interval, and later locks work", func(t *testing.T) {
		s.lossIsTold(t, s.scaled(600*time.Millisecond), func(t testing.TB, _ string) { s.Flush(t) })
	})
}
