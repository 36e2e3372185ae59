package redisconn_test

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/platform/redisconn"
	"example.com/seckill/internal/testing/faultnet"
	"example.com/seckill/internal/testing/testservers"
	"example.com/seckill/internal/tools/servers"
)

const password = "hunter2"

// nobody is an address at which nobody listens.
func nobody(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().String()
}

// lockedServer is a Redis that wants the password.
func lockedServer(t *testing.T) *servers.Redis {
	t.Helper()
	server := testservers.NewRedis(t)
	side := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer func() { _ = side.Close() }()
	require.NoError(t, side.ConfigSet(t.Context(), "requirepass", password).Err())
	return server
}

func TestOpen_Failure_SaysInOneLineWhatIsWrong(t *testing.T) {
	t.Parallel()
	locked := lockedServer(t)
	away := nobody(t)
	for name, tc := range map[string]struct {
		o    redisconn.Options
		want string
	}{
		"nobody there":           {redisconn.Options{Addrs: []string{away}, Password: password}, "redis (single) at " + away + " does not answer"},
		"no sentinel there":      {redisconn.Options{Mode: "sentinel", MasterName: "m", Addrs: []string{away, nobody(t)}, Password: password}, "redis (sentinel) at " + away},
		"no cluster there":       {redisconn.Options{Mode: "cluster", Addrs: []string{away}, Password: password}, "redis (cluster) at " + away + " does not answer"},
		"no password":            {redisconn.Options{Addrs: []string{locked.Addr()}}, "refuses: NOAUTH"},
		"a wrong password":       {redisconn.Options{Addrs: []string{locked.Addr()}, Password: "hunter2!"}, "refuses: "},
		"no cluster, but a node": {redisconn.Options{Mode: "cluster", Addrs: []string{testservers.Redis(t).Addr()}}, "refuses: ERR This instance has cluster support disabled"},
		"an unknown master":      {redisconn.Options{Mode: "sentinel", MasterName: "nobody", Addrs: testservers.Sentinel(t).SentinelAddrs()}, "redis (sentinel) at "},
		"no address":             {redisconn.Options{}, "set redis.addrs"},
		"two single servers":     {redisconn.Options{Addrs: []string{"a:1", "b:1"}}, "set redis.mode to sentinel or cluster"},
		"an unknown mode":        {redisconn.Options{Mode: "ring", Addrs: []string{"a:1"}}, "redis.mode must be"},
	} {
		t.Run(name, func(t *testing.T) {
			tc.o.Timeout, tc.o.DialTimeout = 200*time.Millisecond, 200*time.Millisecond
			client, err := redisconn.Open(t.Context(), tc.o)
			require.Nil(t, client)
			require.ErrorContains(t, err, tc.want)
			require.NotContains(t, err.Error(), "\n")
			require.NotContains(t, err.Error(), password)
		})
	}
}

func TestOpen_PasswordAndDatabase_AreUsed(t *testing.T) {
	locked := lockedServer(t)
	client := open(t, redisconn.Options{Addrs: []string{locked.Addr()}, Password: password, DB: 3})
	require.NoError(t, client.Set(t.Context(), "k", "v", 0).Err())
	direct := redis.NewClient(&redis.Options{Addr: locked.Addr(), Password: password, DB: 3})
	defer func() { _ = direct.Close() }()
	require.Equal(t, "v", direct.Get(t.Context(), "k").Val())
}

// A server that accepts and says nothing must not hold up the start.
func TestOpen_ServerSilent_Ends(t *testing.T) {
	for _, mode := range []string{"single", "cluster", "sentinel"} {
		t.Run(mode, func(t *testing.T) {
			p := testservers.Proxy(t, testservers.Redis(t).Addr())
			t.Cleanup(p.Inject(faultnet.NoReplies))
			start := time.Now()
			_, err := redisconn.Open(t.Context(), redisconn.Options{
				Mode: mode, MasterName: "m", Addrs: []string{p.Addr()}, Timeout: 100 * time.Millisecond, DialTimeout: 100 * time.Millisecond,
			})
			require.ErrorContains(t, err, "does not answer")
			require.Less(t, time.Since(start), 2*time.Second)
		})
	}
}

func TestOpen_ContextEnds_Ends(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := redisconn.Open(ctx, redisconn.Options{Addrs: []string{testservers.Redis(t).Addr()}})
	require.ErrorIs(t, err, context.Canceled)
}

// With Redis away a call fails at once, and not after five attempts to dial.
func TestCall_RedisDown_FailsAtOnce(t *testing.T) {
	server := testservers.NewRedis(t)
	client := open(t, redisconn.Options{Addrs: []string{server.Addr()}})
	require.NoError(t, server.Kill())
	for range 3 {
		start := time.Now()
		require.Error(t, client.Ping(t.Context()).Err())
		require.Less(t, time.Since(start), 150*time.Millisecond)
	}
}

func TestCall_ContextEnds_Ends(t *testing.T) {
	for _, mode := range []string{redisconn.Single, redisconn.Cluster} {
		t.Run(mode, func(t *testing.T) {
			at := behindProxy(t, mode)
			client := connect(t, at)
			t.Cleanup(at.proxy.Inject(faultnet.NoReplies))
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
			defer cancel()
			start := time.Now()
			require.Error(t, client.Incr(ctx, "n").Err())
			require.Less(t, time.Since(start), 200*time.Millisecond, "the timeout is 300 ms")
		})
	}
}

// A connection costs its greeting and nothing more: no name of the library, no
// maintenance notifications.
func TestConnection_New_CostsOneRoundTrip(t *testing.T) {
	server := testservers.NewRedis(t)
	side := redis.NewClient(&redis.Options{Addr: server.Addr(), PoolSize: 1, DisableIdentity: true})
	defer func() { _ = side.Close() }()
	require.NoError(t, side.ConfigResetStat(t.Context()).Err())
	open(t, redisconn.Options{Addrs: []string{server.Addr()}})
	// What a server refuses does not count as a call, and cost a round trip too.
	refused, err := side.Info(t.Context(), "errorstats").Result()
	require.NoError(t, err)
	require.NotContains(t, refused, "errorstat_")
	stats, err := side.Info(t.Context(), "commandstats").Result()
	require.NoError(t, err)
	var called []string
	for line := range strings.Lines(stats) {
		if name, ok := strings.CutPrefix(line, "cmdstat_"); ok {
			name, _, _ = strings.Cut(name, ":")
			called = append(called, name)
		}
	}
	require.ElementsMatch(t, []string{"hello", "ping", "config|resetstat", "info"}, called)
}

func TestClient_OwnMessages_GoToTheLog(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
	_, err := redisconn.Open(t.Context(), redisconn.Options{Addrs: []string{nobody(t)}, Logger: log})
	require.Error(t, err)
	require.Contains(t, out.String(), "level=DEBUG")
	require.Contains(t, out.String(), `from="redis client"`)
	var dial *net.OpError
	require.ErrorAs(t, err, &dial, "the cause can be told")
}
