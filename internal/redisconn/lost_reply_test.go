package redisconn_test

import (
	"context"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"seckill/internal/redisconn"
	"seckill/internal/servers"
	"seckill/internal/servers/testservers"
)

// behind is a client whose server is behind a proxy, and a second one that goes
// past it.
type behind struct {
	client redis.UniversalClient
	nodes  func(context.Context, func(*redis.Client)) // every server's own client
	aside  *redis.Client
	proxy  *toxiproxy.Proxy
}

func behindProxy(t *testing.T, mode string) behind {
	t.Helper()
	o := redisconn.Options{Mode: mode, Timeout: 300 * time.Millisecond}
	switch mode {
	case redisconn.Single:
		server := testservers.NewRedis(t)
		p := proxy(t, server.Addr())
		o.Addrs = []string{p.Listen}
		return connect(t, o, server, p)
	case redisconn.Sentinel:
		// One sentinel is told of a second group, whose master is the proxy.
		group := testservers.NewSentinel(t)
		server, err := group.Master(t.Context())
		require.NoError(t, err)
		p := proxy(t, server.Addr())
		host, port := split(t, p.Listen)
		sentinel := redis.NewSentinelClient(&redis.Options{Addr: group.SentinelAddrs()[0]})
		defer func() { _ = sentinel.Close() }()
		require.NoError(t, sentinel.Monitor(t.Context(), "behind", host, strconv.Itoa(port), "3").Err())
		o.Addrs, o.MasterName = group.SentinelAddrs()[:1], "behind"
		return connect(t, o, server, p)
	default:
		// A cluster of one, which tells its clients the proxy's address.
		server := testservers.NewRedis(t, servers.Set("cluster-enabled", "yes"))
		p := proxy(t, server.Addr())
		host, port := split(t, p.Listen)
		aside := redis.NewClient(&redis.Options{Addr: server.Addr()})
		defer func() { _ = aside.Close() }()
		require.NoError(t, aside.Do(t.Context(), "CLUSTER", "ADDSLOTSRANGE", 0, 16383).Err())
		require.NoError(t, aside.ConfigSet(t.Context(), "cluster-announce-ip", host).Err())
		require.NoError(t, aside.ConfigSet(t.Context(), "cluster-announce-port", strconv.Itoa(port)).Err())
		require.Eventually(t, func() bool { return aside.Set(t.Context(), "up", 1, 0).Err() == nil }, recovery, 10*time.Millisecond)
		o.Addrs = []string{p.Listen}
		return connect(t, o, server, p)
	}
}

func split(t *testing.T, addr string) (string, int) {
	t.Helper()
	host, port, err := net.SplitHostPort(addr)
	require.NoError(t, err)
	n, err := strconv.Atoi(port)
	require.NoError(t, err)
	return host, n
}

// connect opens a client with a warm pool: on a cold one a command that is sent
// again dies in the greeting of the new connection, and nobody sees it.
func connect(t *testing.T, o redisconn.Options, server *servers.Redis, p *toxiproxy.Proxy) behind {
	t.Helper()
	b := behind{client: open(t, o), proxy: p, aside: redis.NewClient(&redis.Options{Addr: server.Addr()})}
	t.Cleanup(func() { _ = b.aside.Close() })
	b.nodes = func(ctx context.Context, use func(*redis.Client)) {
		if cluster, ok := b.client.(*redis.ClusterClient); ok {
			require.NoError(t, cluster.ForEachMaster(ctx, func(_ context.Context, c *redis.Client) error { use(c); return nil }))
			return
		}
		use(b.client.(*redis.Client))
	}
	b.nodes(t.Context(), func(c *redis.Client) {
		var held []*redis.Conn
		for range 8 {
			conn := c.Conn()
			require.NoError(t, conn.Ping(t.Context()).Err())
			held = append(held, conn)
		}
		for _, conn := range held {
			require.NoError(t, conn.Close())
		}
	})
	return b
}

// The rule that everything else relies on: a command whose reply was lost was
// executed once, in every mode, by whatever way it was sent.
func TestACommandWhoseReplyIsLostIsExecutedOnce(t *testing.T) {
	ways := map[string]func(context.Context, redis.UniversalClient) error{
		"a command": func(ctx context.Context, c redis.UniversalClient) error { return c.Incr(ctx, "n").Err() },
		"a script": func(ctx context.Context, c redis.UniversalClient) error {
			return c.Eval(ctx, `return redis.call('INCR', KEYS[1])`, []string{"n"}).Err()
		},
		"a pipeline": func(ctx context.Context, c redis.UniversalClient) error {
			_, err := c.Pipelined(ctx, func(p redis.Pipeliner) error { return p.Incr(ctx, "n").Err() })
			return err
		},
		"a transaction": func(ctx context.Context, c redis.UniversalClient) error {
			_, err := c.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Incr(ctx, "n").Err() })
			return err
		},
	}
	for _, mode := range []string{redisconn.Single, redisconn.Sentinel, redisconn.Cluster} {
		t.Run(mode, func(t *testing.T) {
			for what, fault := range faults {
				for how, send := range ways {
					t.Run(how+", "+what, func(t *testing.T) {
						b := behindProxy(t, mode)
						inject(t, b.proxy, fault)
						err := send(t.Context(), b.client)
						require.Error(t, err)
						if mode == redisconn.Cluster {
							require.ErrorIs(t, err, redisconn.ErrNoAnswer)
						}
						require.Equal(t, "1", b.aside.Get(t.Context(), "n").Val())
					})
				}
			}
		})
	}
}

// The pool must go on seeing that the server closed an idle connection, through
// the connection that renames errors too, or the next command is lost on it.
func TestAConnectionThatWasClosedWhileIdleLosesNoCommand(t *testing.T) {
	for _, mode := range []string{redisconn.Single, redisconn.Cluster} {
		t.Run(mode, func(t *testing.T) {
			b := behindProxy(t, mode)
			require.NoError(t, b.aside.ClientKillByFilter(t.Context(), "TYPE", "normal", "SKIPME", "yes").Err())
			// The end has to pass through the proxy.
			require.Eventually(t, func() bool { return b.proxy != nil && clients(t, b.aside) == 1 }, recovery, time.Millisecond)
			b.proxy.Stop()
			require.NoError(t, b.proxy.Start())
			require.NoError(t, b.client.Incr(t.Context(), "n").Err())
			require.Equal(t, "1", b.aside.Get(t.Context(), "n").Val())
		})
	}
}

func clients(t *testing.T, c *redis.Client) int {
	t.Helper()
	list, err := c.Do(t.Context(), "CLIENT", "LIST", "TYPE", "normal").Text()
	require.NoError(t, err)
	n := 0
	for _, r := range list {
		if r == '\n' {
			n++
		}
	}
	return n
}
