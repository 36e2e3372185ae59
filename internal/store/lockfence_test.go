package store

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/order"
)

func TestLockFence_Next_IsLarger(t *testing.T) {
	onBoth(t, func(t *testing.T, s *subject) {
		var mu sync.Mutex
		given := map[uint64]bool{}
		var callers []func() error
		for range 8 {
			callers = append(callers, func() error {
				last := uint64(0)
				for range 20 {
					fence, err := s.NextFence(t.Context(), "user:1")
					if err != nil {
						return err
					}
					mu.Lock()
					require.Greater(t, fence, last)
					require.NotContains(t, given, fence, "given twice")
					given[fence] = true
					mu.Unlock()
					last = fence
				}
				return nil
			})
		}
		for _, err := range together(callers...) {
			require.NoError(t, err)
		}
	})
}

func TestLockFence_SwitchFromRedisLock_StartsAbove(t *testing.T) {
	onBoth(t, func(t *testing.T, s *subject) {
		c := onSale(t, s, 5)
		before := wish(c, 1, 1)
		before.Fence = uint64(time.Now().Add(-time.Second).UnixMicro())
		require.NoError(t, place(t.Context(), s, c, before))
		after := wish(c, 2, 1)
		var err error
		after.Fence, err = s.NextFence(t.Context(), "user:1")
		require.NoError(t, err)
		require.InDelta(t, time.Now().UnixMicro(), after.Fence, float64(time.Minute.Microseconds()), "the clock's microseconds")
		require.NoError(t, place(t.Context(), s, c, after))
	})
}

func TestLockFence_Behind_IsAdvancedNeverLowered(t *testing.T) {
	onBoth(t, func(t *testing.T, s *subject) {
		first, err := s.NextFence(t.Context(), "user:1")
		require.NoError(t, err)
		for _, seen := range []uint64{first + 1<<40, 1<<53 + 1, 1<<62 + 1} {
			require.NoError(t, s.AdvanceFence(t.Context(), "user:1", seen))
			require.NoError(t, s.AdvanceFence(t.Context(), "user:1", 7))
			next, err := s.NextFence(t.Context(), "user:1")
			require.NoError(t, err)
			require.Equal(t, seen+1, next)
		}
		require.NoError(t, s.AdvanceFence(t.Context(), "user:2", 1<<62), "a key that was never counted")
		next, err := s.NextFence(t.Context(), "user:2")
		require.NoError(t, err)
		require.EqualValues(t, 1<<62+1, next)
		require.Error(t, s.AdvanceFence(t.Context(), "user:1", 1<<63))
	})
}

func TestLockFence_Keys_AreComparedByteByByte(t *testing.T) {
	onBoth(t, func(t *testing.T, s *subject) {
		require.NoError(t, s.AdvanceFence(t.Context(), "a", 1<<62))
		for _, key := range []string{"A", "a ", "ä"} {
			next, err := s.NextFence(t.Context(), key)
			require.NoError(t, err)
			require.Less(t, next, uint64(1<<62), "%q is not \"a\"", key)
		}
	})
}

func TestLockFence_DatabaseDown_IsUnavailable(t *testing.T) {
	s := onMariaDB(t)
	require.NoError(t, s.pools[0].Close())
	_, err := s.NextFence(t.Context(), "user:1")
	require.Error(t, err)
	require.NotErrorIs(t, err, order.ErrCommitUnknown)
}
