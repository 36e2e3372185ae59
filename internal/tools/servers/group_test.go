package servers_test

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/testservers"
	"example.com/seckill/internal/tools/servers"
)

func TestCluster_ThreeMasters_ServeEverySlot(t *testing.T) {
	t.Parallel() // it waits more than it works
	c := testservers.Cluster(t)
	masters, err := c.Masters(t.Context())
	require.NoError(t, err)
	assert.Len(t, masters, 3)
	assert.Len(t, c.Addrs(), 6)
	cluster := redis.NewClusterClient(&redis.ClusterOptions{Addrs: c.Addrs()})
	t.Cleanup(func() { _ = cluster.Close() })
	for _, key := range []string{"a", "b", "c", "d", "e", "f"} {
		require.NoError(t, cluster.Set(t.Context(), key, key, 0).Err())
	}
}

func TestCluster_MasterKilled_ReturnsAsReplica(t *testing.T) {
	t.Parallel() // it waits more than it works
	c := testservers.NewCluster(t)
	masters, err := c.Masters(t.Context())
	require.NoError(t, err)
	victim := masters[0]
	require.NoError(t, victim.Kill())
	require.Eventually(t, func() bool {
		now, err := c.Masters(t.Context())
		return err == nil && len(now) == 3 && !contains(now, victim)
	}, 2*soon, tick)
	require.NoError(t, victim.Restart(t.Context()))
	require.Eventually(t, func() bool {
		role, err := client(t, victim.Addr()).Do(t.Context(), "ROLE").Slice()
		return err == nil && role[0] == "slave"
	}, soon, tick)
}

func TestGroup_Stopped_LeavesNoNode(t *testing.T) {
	testservers.Need(t, testservers.Servers)
	t.Parallel() // it waits more than it works
	c, err := servers.StartCluster(t.Context(), t.TempDir())
	require.NoError(t, err)
	s, err := servers.StartSentinel(t.Context(), t.TempDir())
	require.NoError(t, err)
	var pids []int
	for _, n := range append(c.Nodes(), s.Nodes()...) {
		pids = append(pids, n.PID())
	}
	sentinels := s.SentinelAddrs()
	require.NoError(t, c.Stop())
	require.NoError(t, s.Stop())
	for _, pid := range pids {
		assert.False(t, alive(pid))
	}
	for _, addr := range sentinels {
		require.Error(t, client(t, addr).Ping(t.Context()).Err())
	}
}

func TestSentinelGroup_MasterKilled_ReturnsAsReplica(t *testing.T) {
	t.Parallel() // it waits more than it works
	s := testservers.NewSentinel(t)
	killed, err := s.KillMaster(t.Context())
	require.NoError(t, err)
	c := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: s.MasterName(), SentinelAddrs: s.SentinelAddrs()})
	t.Cleanup(func() { _ = c.Close() })
	require.Eventually(t, func() bool {
		return c.Set(t.Context(), "key", "value", 0).Err() == nil
	}, 2*soon, tick)
	require.Eventually(t, func() bool { // the sentinels hear of it one after another
		master, err := s.Master(t.Context())
		return err == nil && master.Addr() != killed.Addr()
	}, soon, tick)

	require.NoError(t, killed.Restart(t.Context()))
	require.Eventually(t, func() bool {
		value, err := client(t, killed.Addr()).Get(t.Context(), "key").Result()
		return err == nil && value == "value"
	}, 3*soon, tick)
}

func contains(nodes []*servers.Redis, node *servers.Redis) bool {
	for _, n := range nodes {
		if n.Addr() == node.Addr() {
			return true
		}
	}
	return false
}
