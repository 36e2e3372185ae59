package redlock

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// counter is a Fencer that counts, and fails or dawdles on demand.
type counter struct {
	last uint64
	err  error
	slow time.Duration
}

func (c *counter) NextFence(ctx context.Context, _ string) (uint64, error) {
	if c.slow > 0 {
		<-ctx.Done() // the deadline of the grant is given on
		time.Sleep(c.slow)
	}
	c.last++
	return c.last, c.err
}

func (c *counter) AdvanceFence(_ context.Context, _ string, above uint64) error {
	c.last = max(c.last, above)
	return c.err
}

func TestFence_RepeatOrNew_IsSameOrLarger(t *testing.T) {
	_, clients, _ := startNodes(t, 5)
	b := backend(t, clients, Options{Fencer: &counter{}, NodeTimeout: 2 * time.Second})
	fence := func(token string, lease time.Duration) uint64 {
		t.Helper()
		g, err := b.Acquire(t.Context(), "user:1", token, lease)
		require.NoError(t, err)
		return g.Fence
	}
	gone := func() {
		t.Helper()
		require.Eventually(t, func() bool { return strings.Join(values(t, clients, "user:1"), "") == "" }, 5*time.Second, time.Millisecond)
	}
	require.EqualValues(t, 1, fence("a", minute))
	require.EqualValues(t, 1, fence("a", minute), "a repeat")
	require.NoError(t, b.Renew(t.Context(), "user:1", "a", minute))
	require.EqualValues(t, 1, fence("a", minute), "a repeat after a renewal")
	require.NoError(t, b.Release(t.Context(), "user:1", "a"))
	require.EqualValues(t, 2, fence("a", 250*time.Millisecond), "a new grant")
	gone()
	require.EqualValues(t, 3, fence("a", 250*time.Millisecond), "a grant after the lease ran out")
	gone()
	require.EqualValues(t, 4, fence("b", minute))
	for _, c := range clients[:3] { // the majority forgot, and voted afresh
		require.NoError(t, c.Del(t.Context(), usualName("user:1")).Err())
	}
	require.EqualValues(t, 5, fence("b", minute), "in between another may have had it")
	require.NoError(t, b.AdvanceFence(t.Context(), "user:1", 9))
	require.NoError(t, b.Release(t.Context(), "user:1", "b"))
	require.EqualValues(t, 10, fence("c", minute))
}

func TestFence_TooLate_IsNotAGrantAndLeavesNothing(t *testing.T) {
	_, clients, _ := startNodes(t, 5)
	broken := errors.New("broken")
	for name, fencer := range map[string]*counter{
		"the database fails":                          {err: broken},
		"the database answers when the lease is over": {slow: time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			b := backend(t, clients, Options{Fencer: fencer, NodeTimeout: 2 * time.Second})
			_, err := b.Acquire(t.Context(), "user:1", "token", time.Second)
			require.ErrorContains(t, err, "the fence")
			if fencer.err != nil {
				require.ErrorIs(t, err, broken)
			}
			require.Empty(t, strings.Join(values(t, clients, "user:1"), ""))
			require.Empty(t, b.fences.given)
		})
	}
}

func TestFences_ReleaseOrLeaseEnd_ForgetsThem(t *testing.T) {
	_, clients, _ := startNodes(t, 5)
	b := backend(t, clients, Options{Fencer: &counter{}, NodeTimeout: 2 * time.Second})
	left := func() int { b.fences.mu.Lock(); defer b.fences.mu.Unlock(); return len(b.fences.given) }
	_, err := b.Acquire(t.Context(), "user:1", "token", minute)
	require.NoError(t, err)
	require.Equal(t, 1, left())
	require.NoError(t, b.Release(t.Context(), "user:1", "token"))
	require.Zero(t, left())
	_, err = b.Acquire(t.Context(), "user:1", "abandoned", 500*time.Millisecond)
	require.NoError(t, err)
	require.Equal(t, 1, left())
	require.Eventually(t, func() bool { return left() == 0 }, 5*time.Second, time.Millisecond)
}
