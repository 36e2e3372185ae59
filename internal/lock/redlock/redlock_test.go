package redlock

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/store"
	"example.com/seckill/internal/testing/locktest"
	"example.com/seckill/internal/testing/testservers"
	"example.com/seckill/internal/tools/servers"
)

func TestMain(m *testing.M) { testservers.Main(m) }

func TestRedLock_FiveServers_KeepsContract(t *testing.T) {
	_, clients, addrs := startNodes(t, 5)
	fencer := newFencer(t)
	ctx := context.Background()
	everywhere := func(t testing.TB, f func(c *redis.Client) error) {
		t.Helper()
		for _, c := range clients {
			require.NoError(t, f(c))
		}
	}
	locktest.Run(t, locktest.Harness{
		Server: addrs,
		Dial: func(t testing.TB, addrs string) lock.Backend {
			clients := dialAll(t, addrs)
			for _, c := range clients { // five connections take their time on a busy machine
				require.NoError(t, c.Ping(ctx).Err())
			}
			// As patient with a node as the suite is with a server.
			return backend(t, clients, Options{Fencer: fencer, NodeTimeout: 2 * time.Second})
		},
		Value: func(t testing.TB, key string) string { return strings.Join(values(t, clients, key), "") },
		Remaining: func(t testing.TB, key string) (longest time.Duration) {
			everywhere(t, func(c *redis.Client) error {
				d, err := c.PTTL(ctx, usualName(key)).Result()
				longest = max(longest, d)
				return err
			})
			return longest
		},
		Overwrite: func(t testing.TB, key string) {
			everywhere(t, func(c *redis.Client) error { return c.Set(ctx, usualName(key), "stranger", time.Hour).Err() })
		},
		Delete: func(t testing.TB, key string) {
			everywhere(t, func(c *redis.Client) error { return c.Del(ctx, usualName(key)).Err() })
		},
		Kept: func(t testing.TB) (kept int) {
			everywhere(t, func(c *redis.Client) error {
				n, err := c.DBSize(ctx).Result()
				kept += int(n)
				return err
			})
			return kept
		},
		Flush: func(t testing.TB) {
			everywhere(t, func(c *redis.Client) error { return c.FlushDB(ctx).Err() })
		},
		ForgetScripts: func(t testing.TB) {
			everywhere(t, func(c *redis.Client) error { return c.ScriptFlush(ctx).Err() })
		},
		// No Wakes: a message from each of five nodes would be five connections per
		// waiter, to save a part of a quarter of a second.
		Capabilities: locktest.Capabilities{Fence: true, FenceOutlivesData: true, AdvancesFence: true, TellsTaken: true},
	})
}

// values are what the nodes have for key, "" for each where it is free.
func values(t testing.TB, clients []*redis.Client, key string) (all []string) {
	t.Helper()
	for _, c := range clients {
		v, err := c.Get(context.Background(), usualName(key)).Result()
		if !errors.Is(err, redis.Nil) {
			require.NoError(t, err)
		}
		if i := strings.LastIndexByte(v, ' '); i > 0 { // the number of the question
			v = v[:i]
		}
		all = append(all, v)
	}
	return all
}

// startNodes starts independent masters; addrs are theirs, parted by commas.
func startNodes(t testing.TB, n int, settings ...servers.Setting) (nodes []*servers.Redis, clients []*redis.Client, addrs string) {
	t.Helper()
	var all []string
	for range n {
		r := testservers.NewRedis(t, settings...)
		nodes, all = append(nodes, r), append(all, r.Addr())
	}
	addrs = strings.Join(all, ",")
	return nodes, dialAll(t, addrs), addrs
}

func dialAll(t testing.TB, addrs string) (clients []*redis.Client) {
	t.Helper()
	for addr := range strings.SplitSeq(addrs, ",") {
		c := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, ContextTimeoutEnabled: true, DialerRetries: 1})
		t.Cleanup(func() { require.NoError(t, c.Close()) })
		clients = append(clients, c)
	}
	return clients
}

func backend(t testing.TB, clients []*redis.Client, o Options) *Backend {
	t.Helper()
	b, err := New(clients, o)
	require.NoError(t, err)
	t.Cleanup(b.Close)
	return b
}

func newFencer(t testing.TB) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{MySQL: testservers.DSN(t), MaxOpen: 32, MaxIdle: 32, TxTimeout: 5 * time.Second})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	_, err = s.Migrate(t.Context())
	require.NoError(t, err)
	return s
}

// usualName is the name of a lock under the default prefix.
func usualName(key string) string { return defaultPrefix + lockName + key }
