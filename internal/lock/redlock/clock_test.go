package redlock

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/testing/testservers"
	"example.com/seckill/internal/tools/servers"
)

// aheadOfOthers is n nodes, of which the clocks of so many have jumped an hour ahead
// while a holder was inside.
func aheadOfOthers(t *testing.T, n, jumped int) (held *lock.Lease, another *lock.Locker) {
	clock := testservers.NewClock(t)
	_, right, _ := startNodes(t, n-jumped)
	_, wrong, _ := startNodes(t, jumped, servers.ByClock(clock))
	clients, fencer := slices.Concat(right, wrong), newFencer(t)
	locker := func() *lock.Locker {
		l, err := lock.New(backend(t, clients, Options{Fencer: fencer, NodeTimeout: time.Second}), lock.Options{Lease: 3 * time.Second})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, l.Close(context.Background())) })
		return l
	}
	held, err := locker().Acquire(t.Context(), t.Name())
	require.NoError(t, err)
	testservers.Move(t, clock, time.Hour)
	return held, locker()
}

func TestRedlock_MinorityClockJumps_KeepsExclusion(t *testing.T) {
	held, another := aheadOfOthers(t, 3, 1)
	_, err := another.Acquire(t.Context(), t.Name(), lock.WithWait(5*time.Second))
	require.ErrorIs(t, err, lock.ErrNotAcquired)
	require.NoError(t, held.Context().Err(), "renewed by the majority")
	require.NoError(t, held.Release(t.Context()))
}

func TestRedlock_MajorityClockJumps_RenewalReportsLoss(t *testing.T) {
	held, another := aheadOfOthers(t, 3, 2)
	next, err := another.Acquire(t.Context(), t.Name(), lock.WithWait(0))
	require.NoError(t, err)
	require.Greater(t, next.Fence(), held.Fence())
	select {
	case <-held.Context().Done():
	case <-time.After(2 * time.Second):
		t.Fatal("the holder was not told")
	}
	require.ErrorIs(t, context.Cause(held.Context()), lock.ErrLost)
	require.ErrorIs(t, held.Release(t.Context()), lock.ErrLost)
	require.NoError(t, next.Release(t.Context()))
}
