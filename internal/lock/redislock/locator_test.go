package redislock

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/testservers"
)

func TestBackend_ServerOf_IsTheMasterOfTheKey(t *testing.T) {
	cluster := testservers.Cluster(t)
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: cluster.Addrs()})
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	require.NoError(t, client.Ping(t.Context()).Err())
	b, seen := New(client, Options{}), map[string]bool{}
	for _, key := range users(64) {
		master, err := client.MasterForKey(t.Context(), namesOf(key).lock)
		require.NoError(t, err)
		require.Equal(t, master.Options().Addr, b.ServerOf(key))
		seen[b.ServerOf(key)] = true
	}
	require.Len(t, seen, 3, "masters")
}

// A caller that gives up must not wait for servers that are down.
func TestBackend_ServerOfAnUnknownCluster_AnswersAtOnce(t *testing.T) {
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"192.0.2.1:1"}, DialTimeout: time.Minute})
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	began := time.Now()
	require.Empty(t, New(client, Options{}).ServerOf("user:1"))
	require.Less(t, time.Since(began), 10*time.Second)
}

func TestBackend_ServerOfOneServer_IsEmpty(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: "192.0.2.1:1"})
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	require.Empty(t, New(client, Options{}).ServerOf("user:1"))
}
