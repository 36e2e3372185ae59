package redisconn_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/platform/redisconn"
	"example.com/seckill/internal/testing/testservers"
	"example.com/seckill/internal/tools/servers"
)

// writable waits until a key can be set, and tells how long that took.
func writable(t *testing.T, c redis.UniversalClient, key string) time.Duration {
	t.Helper()
	start := time.Now()
	require.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		return c.Set(ctx, key, "after", 0).Err() == nil
	}, recovery, 20*time.Millisecond, "not writable after the master's death")
	return time.Since(start)
}

func TestSentinel_Failover_FindsNewMaster(t *testing.T) {
	t.Parallel()
	group := testservers.NewSentinel(t)
	client := open(t, redisconn.Options{
		Mode: redisconn.Sentinel, Addrs: group.SentinelAddrs(), MasterName: group.MasterName(),
	})
	require.NoError(t, client.Set(t.Context(), "k", "before", 0).Err())
	_, err := group.KillMaster(t.Context())
	require.NoError(t, err)
	t.Log("writable again after", writable(t, client, "k"))
	require.Equal(t, "after", client.Get(t.Context(), "k").Val())
}

func TestCluster_Failover_FindsNewMaster(t *testing.T) {
	t.Parallel()
	group := testservers.NewCluster(t)
	client := open(t, redisconn.Options{Mode: redisconn.Cluster, Addrs: group.Addrs()})
	require.NoError(t, client.Set(t.Context(), "k", "before", 0).Err())
	require.NoError(t, owner(t, client, group, "k").Kill())
	t.Log("writable again after", writable(t, client, "k"))
	require.Equal(t, "after", client.Get(t.Context(), "k").Val())
}

func owner(t *testing.T, c redis.UniversalClient, group *servers.Cluster, key string) *servers.Redis {
	t.Helper()
	master, err := c.(*redis.ClusterClient).MasterForKey(t.Context(), key)
	require.NoError(t, err)
	for _, n := range group.Nodes() {
		if n.Addr() == master.Options().Addr {
			return n
		}
	}
	require.Fail(t, "nobody owns the key")
	return nil
}

// Redirections are not repetitions: the server that sent one did nothing.
func TestCluster_Redirections_AreFollowed(t *testing.T) {
	t.Parallel()
	group := testservers.NewCluster(t)
	client := open(t, redisconn.Options{Mode: redisconn.Cluster, Addrs: group.Addrs()})
	for name, move := range map[string]func(slot int64, from, to *redis.Client, fromID, toID string){
		"MOVED": func(slot int64, from, to *redis.Client, _, toID string) {
			require.NoError(t, to.Do(t.Context(), "CLUSTER", "SETSLOT", slot, "NODE", toID).Err())
			require.NoError(t, from.Do(t.Context(), "CLUSTER", "SETSLOT", slot, "NODE", toID).Err())
		},
		"ASK": func(slot int64, from, to *redis.Client, fromID, toID string) {
			require.NoError(t, to.Do(t.Context(), "CLUSTER", "SETSLOT", slot, "IMPORTING", fromID).Err())
			require.NoError(t, from.Do(t.Context(), "CLUSTER", "SETSLOT", slot, "MIGRATING", toID).Err())
		},
	} {
		t.Run(name, func(t *testing.T) {
			key := "redirected:" + name
			slot := client.ClusterKeySlot(t.Context(), key).Val()
			from := owner(t, client, group, key)
			masters, err := group.Masters(t.Context())
			require.NoError(t, err)
			to := masters[0]
			if to.Addr() == from.Addr() {
				to = masters[1]
			}
			fromClient, toClient := aside(t, from), aside(t, to)
			move(slot, fromClient, toClient,
				fromClient.ClusterMyID(t.Context()).Val(), toClient.ClusterMyID(t.Context()).Val())
			require.NoError(t, client.Incr(t.Context(), key).Err())
			_, err = client.Pipelined(t.Context(), func(p redis.Pipeliner) error { return p.Incr(t.Context(), key).Err() })
			require.NoError(t, err)
			require.Equal(t, "2", client.Get(t.Context(), key).Val())
		})
	}
}

func aside(t *testing.T, r *servers.Redis) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: r.Addr()})
	t.Cleanup(func() { _ = c.Close() })
	return c
}
