package stock

import (
	"net"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/platform/redisconn"
	"example.com/seckill/internal/testing/testservers"
)

// While a slot is moved, some keys of its shard are at the new master and some at the
// old. What cannot be loaded as a whole must not be taken for lost: the others would be
// closed for it, for as long as the move takes.
func TestShard_HalfMigratedSlot_DoesNotAnswer(t *testing.T) {
	cluster := testservers.Cluster(t)
	s := open(t, dial(t, redisconn.Options{Mode: redisconn.Cluster, Addrs: cluster.Addrs()}), 4, 2)
	s.requireLoaded(true)
	move := tag(s.load.CouponID, 0)
	from, to, slot := mastersOf(t, move+"stock")
	require.NoError(t, to.Do(t.Context(), "CLUSTER", "SETSLOT", slot, "IMPORTING", idOf(t, from)).Err())
	require.NoError(t, from.Do(t.Context(), "CLUSTER", "SETSLOT", slot, "MIGRATING", idOf(t, to)).Err())
	migrate(t, from, to, move+"stock", move+"meta")
	defer func() {
		require.NoError(t, from.Do(t.Context(), "CLUSTER", "SETSLOT", slot, "STABLE").Err())
		migrate(t, to, from, move+"stock", move+"meta")
		require.NoError(t, to.Do(t.Context(), "CLUSTER", "SETSLOT", slot, "STABLE").Err())
		s.requireLoaded(true)
	}()
	_, err := s.Loaded(t.Context(), s.load.CouponID, s.load.Epoch, s.load.Shards)
	require.ErrorContains(t, err, "shard 0")
	s.buy(s.at(1, 0))
}

// mastersOf gives the master of the key's slot, and another one.
func mastersOf(t *testing.T, key string) (of, other *redis.Client, slot int64) {
	t.Helper()
	masters, err := testservers.Cluster(t).Masters(t.Context())
	require.NoError(t, err)
	for _, m := range masters {
		node := redis.NewClient(&redis.Options{Addr: m.Addr()})
		t.Cleanup(func() { _ = node.Close() })
		slot = node.ClusterKeySlot(t.Context(), key).Val()
		if node.Exists(t.Context(), key).Err() == nil {
			of = node
		} else {
			other = node
		}
	}
	require.NotNil(t, of)
	require.NotNil(t, other)
	return of, other, slot
}

func idOf(t *testing.T, node *redis.Client) string {
	t.Helper()
	id, err := node.Do(t.Context(), "CLUSTER", "MYID").Text()
	require.NoError(t, err)
	return id
}

func migrate(t *testing.T, from, to *redis.Client, keys ...any) {
	t.Helper()
	host, port, err := net.SplitHostPort(to.Options().Addr)
	require.NoError(t, err)
	args := append([]any{"MIGRATE", host, port, "", 0, 5000, "KEYS"}, keys...)
	require.NoError(t, from.Do(t.Context(), args...).Err())
}
