package redisconn_test

import (
	"context"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/platform/redisconn"
	"example.com/seckill/internal/testing/faultnet"
	"example.com/seckill/internal/testing/testservers"
	"example.com/seckill/internal/tools/servers"
)

// place is a server behind a proxy.
type place struct {
	options redisconn.Options
	server  *servers.Redis
	proxy   *faultnet.Proxy
}

func behindProxy(t *testing.T, mode string) place {
	t.Helper()
	o := redisconn.Options{Mode: mode, Timeout: time.Second}
	if mode == redisconn.Sentinel {
		// One sentinel watches a second group, whose master is the proxy.
		group := testservers.NewSentinel(t)
		server, err := group.Master(t.Context())
		require.NoError(t, err)
		p := testservers.Proxy(t, server.Addr())
		host, port := split(t, p.Addr())
		sentinel := redis.NewSentinelClient(&redis.Options{Addr: group.SentinelAddrs()[0]})
		defer func() { _ = sentinel.Close() }()
		require.NoError(t, sentinel.Monitor(t.Context(), "behind", host, strconv.Itoa(port), "3").Err())
		o.Addrs, o.MasterName = group.SentinelAddrs()[:1], "behind"
		return place{o, server, p}
	}
	var settings []servers.Setting
	if mode == redisconn.Cluster {
		settings = append(settings, servers.Set("cluster-enabled", "yes"))
	}
	server := testservers.NewRedis(t, settings...)
	p := testservers.Proxy(t, server.Addr())
	if mode == redisconn.Cluster {
		// A cluster of one, which tells its clients the proxy's address.
		host, port := split(t, p.Addr())
		side := aside(t, server)
		require.NoError(t, side.Do(t.Context(), "CLUSTER", "ADDSLOTSRANGE", 0, 16383).Err())
		require.NoError(t, side.ConfigSet(t.Context(), "cluster-announce-ip", host).Err())
		require.NoError(t, side.ConfigSet(t.Context(), "cluster-announce-port", strconv.Itoa(port)).Err())
		require.Eventually(t, func() bool { return side.Set(t.Context(), "up", 1, 0).Err() == nil }, recovery, 10*time.Millisecond)
	}
	o.Addrs = []string{p.Addr()}
	return place{o, server, p}
}

func split(t *testing.T, addr string) (string, int) {
	t.Helper()
	host, port, err := net.SplitHostPort(addr)
	require.NoError(t, err)
	n, err := strconv.Atoi(port)
	require.NoError(t, err)
	return host, n
}

// connect opens a client with a warm pool. With a cold pool, a repeated command ends unseen in the greeting of the new
// connection.
func connect(t *testing.T, at place) redis.UniversalClient {
	t.Helper()
	client := open(t, at.options)
	if cluster, ok := client.(*redis.ClusterClient); ok {
		require.NoError(t, cluster.ForEachMaster(t.Context(), func(_ context.Context, c *redis.Client) error {
			warm(t, c)
			return nil
		}))
	} else {
		warm(t, client.(*redis.Client))
	}
	return client
}

// warm makes connections, which the pool then keeps, for commands and for
// pipelines.
func warm(t *testing.T, c *redis.Client) {
	t.Helper()
	var held []*redis.Conn
	for range 8 {
		conn := c.Conn()
		require.NoError(t, conn.Ping(t.Context()).Err())
		held = append(held, conn)
	}
	for _, conn := range held {
		require.NoError(t, conn.Close())
	}
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			_, _ = c.Pipelined(t.Context(), func(p redis.Pipeliner) error { return p.Ping(t.Context()).Err() })
		})
	}
	wait.Wait()
}

// The rule that everything else relies on: a command whose reply was lost was
// executed once, in every mode, by whatever way it was sent.
func TestCommand_ReplyLost_RunsOnce(t *testing.T) {
	t.Parallel()
	ways := map[string]func(context.Context, redis.UniversalClient, string) error{
		"a command": func(ctx context.Context, c redis.UniversalClient, key string) error { return c.Incr(ctx, key).Err() },
		"a script": func(ctx context.Context, c redis.UniversalClient, key string) error {
			return c.Eval(ctx, `return redis.call('INCR', KEYS[1])`, []string{key}).Err()
		},
		"a pipeline": func(ctx context.Context, c redis.UniversalClient, key string) error {
			_, err := c.Pipelined(ctx, func(p redis.Pipeliner) error { return p.Incr(ctx, key).Err() })
			return err
		},
		"an automatic pipeline": func(ctx context.Context, c redis.UniversalClient, key string) error {
			p, err := c.AutoPipeline()
			if err != nil {
				return err
			}
			defer func() { _ = p.Close() }()
			return p.Incr(ctx, key).Err()
		},
		"a script in a common pipeline": func(ctx context.Context, c redis.UniversalClient, key string) error {
			p, err := redisconn.Pipeline(c)
			if err != nil {
				return err
			}
			return p.Eval(ctx, `return redis.call('INCR', KEYS[1])`, []string{key}).Err()
		},
		"a transaction": func(ctx context.Context, c redis.UniversalClient, key string) error {
			_, err := c.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Incr(ctx, key).Err() })
			return err
		},
	}
	for _, mode := range []string{redisconn.Single, redisconn.Sentinel, redisconn.Cluster} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			at := behindProxy(t, mode)
			side := aside(t, at.server)
			for what, fault := range faults {
				for how, send := range ways {
					t.Run(how+", "+what, func(t *testing.T) {
						client, key := connect(t, at), what+how
						t.Cleanup(at.proxy.Inject(fault))
						err := send(t.Context(), client, key)
						require.Error(t, err)
						if mode == redisconn.Cluster {
							require.ErrorIs(t, err, redisconn.ErrNoAnswer)
						}
						require.Equal(t, "1", side.Get(t.Context(), key).Val())
					})
				}
			}
		})
	}
}

// The pool must still detect an idle connection that the server has closed, even behind the connection that renames
// errors. Otherwise the next command is lost on it.
func TestConnection_ClosedWhileIdle_LosesNoCommand(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{redisconn.Single, redisconn.Cluster} {
		t.Run(mode, func(t *testing.T) {
			at := behindProxy(t, mode)
			client := connect(t, at)
			at.proxy.Cut()
			require.NoError(t, at.proxy.Join())
			require.NoError(t, client.Incr(t.Context(), "n").Err())
			require.Equal(t, "1", aside(t, at.server).Get(t.Context(), "n").Val())
		})
	}
}
