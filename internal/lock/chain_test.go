package lock_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/lock"
)

func TestContext_KeysTakenAlternately_DoesNotGrow(t *testing.T) {
	inBubble(t, lock.Options{}, func(t *testing.T, l *lock.Locker, _ *memory) {
		h, err := l.Acquire(context.WithValue(t.Context(), t, "mine"), "0")
		require.NoError(t, err)
		outer := acquire(t, l, "outer")
		var first int
		for i := 1; i <= 1000; i++ {
			next, err := l.Acquire(h.Context(), strconv.Itoa(i%2))
			require.NoError(t, err)
			require.NoError(t, h.Release(t.Context()))
			h = next
			if i == 3 {
				first = len(fmt.Sprint(h.Context()))
			}
		}
		require.Len(t, fmt.Sprint(h.Context()), first)
		require.Equal(t, "mine", h.Context().Value(t))
		again, err := l.Acquire(h.Context(), "0")
		require.NoError(t, err, "re-entrant")
		require.Equal(t, h.Fence(), again.Fence())
		require.NoError(t, outer.Release(t.Context()))
		require.NoError(t, h.Release(t.Context()))
	})
}

func TestReentrancy_OneKeyReleased_OthersStayReentrant(t *testing.T) {
	inBubble(t, lock.Options{}, func(t *testing.T, l *lock.Locker, _ *memory) {
		a := acquire(t, l, "a")
		b, err := l.Acquire(a.Context(), "b")
		require.NoError(t, err)
		c, err := l.Acquire(b.Context(), "c")
		require.NoError(t, err)
		require.NoError(t, b.Release(t.Context()))
		d, err := l.Acquire(c.Context(), "d")
		require.NoError(t, err)
		again, err := l.Acquire(d.Context(), "a")
		require.NoError(t, err)
		require.Equal(t, a.Fence(), again.Fence())
		other, err := l.Acquire(d.Context(), "b")
		require.NoError(t, err, "it was released, and is taken anew")
		require.Greater(t, other.Fence(), b.Fence())
		for _, h := range []*lock.Lease{other, d, c, a} {
			require.NoError(t, h.Release(t.Context()))
		}
	})
}
