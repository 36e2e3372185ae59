package redislock

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/platform/redisconn"
	"example.com/seckill/internal/testing/testservers"
)

// While the slot of a bucket is open, and its keys are moved one by one, a lock is given, refused,
// renewed and released as ever: to one at a time, with a fence that grows.
func TestAcquire_SlotMigrates_GrantsLock(t *testing.T) {
	cluster := testservers.Cluster(t)
	client, err := redisconn.Open(t.Context(), redisconn.Options{Mode: redisconn.Cluster, Addrs: cluster.Addrs(), Timeout: 5 * time.Second})
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Close()) }()
	b := New(client, Options{Prefix: "moving:"})
	const key, neighbour, other = "user:5", "user:69", "user:6" // two of one bucket, and one of another
	last := uint64(0)
	// use takes and gives back, alone and together with others, and the first of them.
	use := func(when string) {
		t.Helper()
		grant, err := b.Acquire(t.Context(), key, "a", time.Minute)
		require.NoError(t, err, when)
		require.Greater(t, grant.Fence, last, when)
		again, err := b.Acquire(t.Context(), key, "a", time.Minute)
		require.NoError(t, err, when)
		require.Equal(t, grant.Fence, again.Fence, when)
		_, err = b.Acquire(t.Context(), key, "b", time.Minute)
		require.ErrorIs(t, err, lock.ErrHeld, when)
		require.NoError(t, b.Renew(t.Context(), key, "a", time.Minute), when)
		require.NoError(t, b.Release(t.Context(), key, "a"), when)
		last = grant.Fence

		many := []string{neighbour, other, key}
		before := last
		for i, a := range b.AcquireMany(t.Context(), many, "c", time.Minute) {
			require.NoError(t, a.Err, "%s, %s", when, many[i])
			if many[i] != other { // keys that are asked for by themselves have no order
				require.Greater(t, a.Grant.Fence, before, when)
				last = max(last, a.Grant.Fence)
			}
		}
		_, err = b.Acquire(t.Context(), neighbour, "b", time.Minute)
		require.ErrorIs(t, err, lock.ErrHeld, when)
		for _, err := range append(b.RenewMany(t.Context(), many, "c", time.Minute), b.ReleaseMany(t.Context(), many, "c")...) {
			require.NoError(t, err, when)
		}
	}
	use("before")
	names := b.namesOf(key)
	from, slot, err := cluster.Owner(t.Context(), names.fence)
	require.NoError(t, err)
	masters, err := cluster.Masters(t.Context())
	require.NoError(t, err)
	to := masters[0]
	if to == from {
		to = masters[1]
	}
	held, err := b.Acquire(t.Context(), neighbour, "held", time.Minute)
	require.NoError(t, err)
	last = held.Fence
	require.NoError(t, cluster.OpenSlot(t.Context(), slot, from, to))
	_, err = b.Acquire(t.Context(), neighbour, "b", time.Minute)
	require.ErrorIs(t, err, lock.ErrHeld, "what was given before is held")
	require.NoError(t, b.Release(t.Context(), neighbour, "held"))
	use("open")
	require.NoError(t, cluster.MoveKeys(t.Context(), from, to, names.fence))
	use("with its fences moved")
	require.NoError(t, cluster.MoveSlot(t.Context(), slot, from, to), "no key was made twice")
	use("moved")
}

// A lock that its caller left between the first step and the last is no grant without a fence.
func TestAcquire_NoFence_IsNotAGrant(t *testing.T) {
	client := dialed(t, testservers.Redis(t).Addr())
	b := New(client, Options{})
	const key = "user:7007"
	taken := func() {
		require.NoError(t, takeScript.Run(t.Context(), client, []string{b.namesOf(key).lock}, "a", 60_000, 0).Err())
	}
	taken()
	_, err := b.Acquire(t.Context(), key, "b", time.Minute)
	require.ErrorIs(t, err, lock.ErrHeld)
	grant, err := b.Acquire(t.Context(), key, "a", time.Minute)
	require.NoError(t, err)
	require.NotZero(t, grant.Fence)
	require.NoError(t, b.Release(t.Context(), key, "a"))

	taken()
	for _, a := range b.AcquireMany(t.Context(), []string{"user:7008", key}, "a", time.Minute) {
		require.NoError(t, a.Err)
		require.NotZero(t, a.Grant.Fence)
	}
	require.NoError(t, b.Release(t.Context(), key, "a"))
	require.NoError(t, b.Release(t.Context(), "user:7008", "a"))

	// Its lease ends, and another has it, before it is given a fence.
	require.NoError(t, client.Set(t.Context(), b.namesOf(key).lock, "b 9", time.Minute).Err())
	r, err := stampScript.Run(t.Context(), client, []string{b.namesOf(key).lock}, "a", 60_000, "8").Slice()
	require.NoError(t, err)
	require.Equal(t, int64(0), r[0], fmt.Sprint(r))
	require.NoError(t, client.Del(t.Context(), b.namesOf(key).lock).Err())
	r, err = stampScript.Run(t.Context(), client, []string{b.namesOf(key).lock}, "a", 60_000, "8").Slice()
	require.NoError(t, err)
	require.Equal(t, int64(0), r[0], "what has ended is not taken again")
	require.ErrorIs(t, client.Get(t.Context(), b.namesOf(key).lock).Err(), redis.Nil)
}
