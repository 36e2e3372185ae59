package redislock

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/platform/redisconn"
	"example.com/seckill/internal/testing/locktest"
	"example.com/seckill/internal/testing/testservers"
	"example.com/seckill/internal/tools/servers"
)

func TestMain(m *testing.M) {
	logging.Disable() // of connections that the tests cut
	testservers.Main(m)
}

func TestRedisLock_StandaloneServer_KeepsContract(t *testing.T) {
	t.Parallel()
	locktest.Run(t, harness(t, testservers.NewRedis(t).Addr()))
}

// Here the scripts of all callers of a client share its pipelines. What is asked after
// a reply that does not come waits for as long as the client does, so that must be less
// than the second within which a key has to be gone.
func TestRedisLock_SharedPipelines_KeepsContract(t *testing.T) {
	testservers.OneOf(t, 2)
	t.Parallel()
	h := harness(t, testservers.NewRedis(t).Addr())
	h.Dial = func(t testing.TB, addr string) lock.Backend {
		client := closed(t, redis.NewClient(&redis.Options{
			Addr: addr, MaxRetries: -1, ContextTimeoutEnabled: true, DialerRetries: 1, ReadTimeout: 500 * time.Millisecond,
		}))
		scripts, err := redisconn.Pipeline(client)
		require.NoError(t, err)
		return New(client, Options{Scripter: scripts})
	}
	locktest.Run(t, h)
}

func TestRedisLock_ServerClockMoves_KeepsContract(t *testing.T) {
	t.Parallel()
	clock := testservers.NewClock(t)
	h := harness(t, testservers.NewRedis(t, servers.ByClock(clock)).Addr())
	locktest.RunClock(t, h, func(t testing.TB, by time.Duration) { testservers.Move(t, clock, by) })
}

func TestRedisLock_EmbeddedServer_KeepsContract(t *testing.T) {
	testservers.OneOf(t, 2)
	t.Parallel()
	h := harness(t, startMini(t))
	h.FenceOutlivesData = true
	locktest.Run(t, h)
}

func TestRedisLock_Cluster_KeepsContract(t *testing.T) {
	testservers.OneOf(t, 2)
	t.Parallel()
	h, _ := clusterHarness(t)
	locktest.Run(t, h)
}

func clusterHarness(t testing.TB) (h locktest.Harness, dial func(testing.TB, string) redis.UniversalClient) {
	addrs := testservers.NewCluster(t).Addrs()
	dial = func(t testing.TB, _ string) redis.UniversalClient {
		return closed(t, redis.NewClusterClient(&redis.ClusterOptions{
			Addrs: addrs, MaxRetries: -1, ContextTimeoutEnabled: true,
		}))
	}
	observer := dial(t, "").(*redis.ClusterClient)
	h = harnessOf(dial, observer)
	h.Unproxied = true
	everywhere := func(t testing.TB, f func(ctx context.Context, c *redis.Client) error) {
		t.Helper()
		require.NoError(t, observer.ForEachMaster(context.Background(), f))
	}
	h.Flush = func(t testing.TB) {
		everywhere(t, func(ctx context.Context, c *redis.Client) error { return c.FlushDB(ctx).Err() })
	}
	h.ForgetScripts = func(t testing.TB) {
		everywhere(t, func(ctx context.Context, c *redis.Client) error { return c.ScriptFlush(ctx).Err() })
	}
	h.Subscriptions = nil // each node knows of its own; counted on the standalone server
	return h, dial
}

// startMini is the server of the embedded mode. Its keys do not expire by
// themselves, so a ticker moves its clock.
func startMini(t testing.TB) string {
	m := miniredis.NewMiniRedis()
	require.NoError(t, m.Start())
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		const step = 10 * time.Millisecond
		tick := time.NewTicker(step)
		defer tick.Stop()
		last := time.Now()
		for {
			select {
			case now := <-tick.C:
				m.FastForward(now.Sub(last))
				last = now
			case <-stop:
				return
			}
		}
	}()
	t.Cleanup(func() { close(stop); <-stopped; m.Close() })
	return m.Addr()
}

func harness(t testing.TB, addr string) locktest.Harness {
	dial := func(t testing.TB, addr string) redis.UniversalClient {
		return closed(t, redis.NewClient(&redis.Options{
			Addr: addr, MaxRetries: -1, ContextTimeoutEnabled: true, DialerRetries: 1,
		}))
	}
	h := harnessOf(dial, dial(t, addr))
	h.Server = addr
	return h
}

func closed[C redis.UniversalClient](t testing.TB, c C) C {
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

func harnessOf(dial func(testing.TB, string) redis.UniversalClient, observer redis.UniversalClient) locktest.Harness {
	ctx := context.Background()
	return locktest.Harness{
		Dial: func(t testing.TB, addr string) lock.Backend { return New(dial(t, addr), Options{}) },
		Value: func(t testing.TB, key string) string {
			v, err := observer.Get(ctx, namesOf(key).lock).Result()
			if !errors.Is(err, redis.Nil) {
				require.NoError(t, err)
			}
			return strings.TrimSuffix(v, " waited") // who has it, and not who would like to
		},
		Remaining: func(t testing.TB, key string) time.Duration {
			d, err := observer.PTTL(ctx, namesOf(key).lock).Result()
			require.NoError(t, err)
			return d
		},
		Overwrite: func(t testing.TB, key string) {
			require.NoError(t, observer.Set(ctx, namesOf(key).lock, "stranger 1", time.Hour).Err())
		},
		Delete: func(t testing.TB, key string) {
			require.NoError(t, observer.Del(ctx, namesOf(key).lock).Err())
		},
		Kept:          func(t testing.TB) int { return int(observer.DBSize(ctx).Val()) },
		KeptAtMost:    buckets,
		Flush:         func(t testing.TB) { require.NoError(t, observer.FlushDB(ctx).Err()) },
		ForgetScripts: func(t testing.TB) { require.NoError(t, observer.ScriptFlush(ctx).Err()) },
		Subscriptions: func(t testing.TB) int {
			channels, err := observer.PubSubChannels(ctx, "seckill:{lock:*").Result()
			require.NoError(t, err)
			return len(channels)
		},
		Capabilities: locktest.Capabilities{
			Fence: true, FenceOutlivesData: true, AdvancesFence: true, Wakes: true, TellsTaken: true,
		},
	}
}
