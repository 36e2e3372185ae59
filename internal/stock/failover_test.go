package stock

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/order"
	"example.com/seckill/internal/platform/redisconn"
	"example.com/seckill/internal/testing/testservers"
	"example.com/seckill/internal/tools/servers"
)

// inCluster opens a coupon with a hundred units in each shard.
func inCluster(t *testing.T, cluster *servers.Cluster, shards int) *shop {
	t.Helper()
	client := dial(t, redisconn.Options{Mode: redisconn.Cluster, Addrs: cluster.Addrs(), Timeout: time.Second})
	return open(t, client, 100*int64(shards), shards)
}

// move moves the slot of a shard, while nothing asks whether it is loaded.
func (s *shop) move(cluster *servers.Cluster, shard int) (from, to *servers.Redis) {
	s.t.Helper()
	from, to, slot := bothMasters(s.t, cluster, tag(s.load.CouponID, shard)+"stock")
	require.NoError(s.t, cluster.OpenSlot(s.t.Context(), slot, from, to))
	require.NoError(s.t, cluster.MoveSlot(s.t.Context(), slot, from, to))
	return from, to
}

// requireLoadedSoon waits for an answer of all shards.
func (s *shop) requireLoadedSoon(want bool) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		loaded, err := s.Loaded(s.t.Context(), s.load.CouponID, s.load.Epoch, s.load.Shards)
		return err == nil && loaded == want
	}, 30*time.Second, 20*time.Millisecond, "loaded: want %t", want)
}

// reload loads the next epoch and sells a unit of each shard.
func (s *shop) reload() {
	s.t.Helper()
	s.load.Epoch++
	require.Eventually(s.t, func() bool { return s.Load(s.t.Context(), s.load) == nil }, 20*time.Second, 20*time.Millisecond)
	s.requireLoadedSoon(true)
	left := make([]int64, s.load.Shards)
	for shard := range left {
		s.buy(s.at(shard, 0))
		left[shard] = s.load.Units/int64(s.load.Shards) - 1
	}
	s.wants(s.load.Shards, left...)
}

// A slot moves to a master, and a replica takes the place of that master. The replica may lack writes, although the
// server on which the shard was loaded still runs.
func TestSlotMove_ReplicaPromoted_ShardIsReloaded(t *testing.T) {
	t.Parallel() // it waits more than it works
	cluster := testservers.NewCluster(t)
	s := inCluster(t, cluster, 1) // another shard of the dead one would tell by itself
	_, to := s.move(cluster, 0)
	require.NoError(t, to.Kill())
	s.requireLoadedSoon(false)
	s.reload()
}

// A restarted server may have lost writes, and a slot is moved from it.
func TestSlotMove_SourceRestarted_ShardIsReloaded(t *testing.T) {
	t.Parallel() // it waits more than it works
	testservers.Need(t, servers.LookRedis)
	cluster, err := servers.StartMasters(t.Context(), filepath.Join(t.TempDir(), "c"), 3, servers.Set("appendonly", "yes"))
	require.NoError(t, err)
	defer func() { require.NoError(t, cluster.Stop()) }()
	s := inCluster(t, cluster, 1)
	from, _, err := cluster.Owner(t.Context(), tag(s.load.CouponID, 0)+"stock")
	require.NoError(t, err)
	require.NoError(t, from.Kill())
	require.NoError(t, from.Restart(t.Context()))
	require.Eventually(t, func() bool {
		_, err := s.Remaining(t.Context(), s.load.CouponID, s.load.Shards)
		return err == nil
	}, 20*time.Second, 20*time.Millisecond)
	time.Sleep(newcomerAge) // so that it is not too young alone
	s.move(cluster, 0)
	s.requireLoadedSoon(false)
	s.reload()
}

// A server dies while a slot is half-migrated. Lost shards are loaded again from the database, and the others sell on.
func TestFailover_DuringSlotMigration_StaysExact(t *testing.T) {
	t.Parallel()
	for name, which := range map[string]func(from, to, third *servers.Redis) *servers.Redis{
		"that it is moved from": func(from, _, _ *servers.Redis) *servers.Redis { return from },
		"that it is moved to":   func(_, to, _ *servers.Redis) *servers.Redis { return to },
		"another one":           func(_, _, third *servers.Redis) *servers.Redis { return third },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it waits more than it works
			cluster := testservers.NewCluster(t, servers.Set("cluster-require-full-coverage", "no"))
			s := inCluster(t, cluster, 8)
			from, to, slot := bothMasters(t, cluster, tag(s.load.CouponID, 0)+"stock")
			third := thirdMaster(t, cluster, from, to)
			require.NoError(t, cluster.OpenSlot(t.Context(), slot, from, to))
			if name != "another one" {
				require.NoError(t, cluster.MoveKeys(t.Context(), from, to, s.keys(s.load.CouponID, 0, 5)...))
			}
			dead := which(from, to, third)
			require.NoError(t, dead.Kill())
			if dead == to { // the slot stays with what is left of it: an operator closes it
				require.Eventually(t, func() bool { return s.left0(t.Context()) }, 20*time.Second, 50*time.Millisecond)
				require.NoError(t, cluster.Stabilize(t.Context(), slot, from))
			}
			s.requireLoadedSoon(false)
			s.reload()
			if dead == third {
				require.NoError(t, cluster.MoveSlot(t.Context(), slot, from, to))
				s.requireLoadedSoon(true)
				require.ErrorIs(t, s.try(s.at(0, 0)), order.ErrBusy, "its hold is where it went")
			}
		})
	}
}

// left0 reports whether the servers of all shards but the first respond. A promoted replica may lack
// a shard: its master died right after the stock was loaded.
func (s *shop) left0(ctx context.Context) bool {
	for shard := 1; shard < s.load.Shards; shard++ {
		err := s.client.Get(ctx, tag(s.load.CouponID, shard)+"stock").Err()
		if err != nil && !errors.Is(err, redis.Nil) {
			return false
		}
	}
	return true
}

func thirdMaster(t *testing.T, cluster *servers.Cluster, from, to *servers.Redis) *servers.Redis {
	t.Helper()
	masters, err := cluster.Masters(t.Context())
	require.NoError(t, err)
	for _, m := range masters {
		if m != from && m != to {
			return m
		}
	}
	require.Fail(t, "there are but two masters")
	return nil
}
