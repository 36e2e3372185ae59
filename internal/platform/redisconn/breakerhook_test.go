package redisconn_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/platform/breaker"
	"example.com/seckill/internal/platform/redisconn"
	"example.com/seckill/internal/testing/testservers"
	"example.com/seckill/internal/tools/servers"
)

// quick is longer than a refusal without asking takes on a busy machine, and much
// shorter than the client's timeout.
const quick = 100 * time.Millisecond

// untilOpen asks until the client refuses by itself, and tells how long that took.
func untilOpen(t *testing.T, c redis.UniversalClient, key string) time.Duration {
	t.Helper()
	began := time.Now()
	require.Eventually(t, func() bool {
		return errors.Is(c.Get(t.Context(), key).Err(), breaker.ErrOpen)
	}, 10*time.Second, time.Millisecond, "it is asked on and on")
	return time.Since(began)
}

func TestBreaker_RedisDown_SendsNothingUntilItAnswers(t *testing.T) {
	r := testservers.NewRedis(t)
	told := make(chan bool, 64)
	c := open(t, redisconn.Options{
		Addrs: []string{r.Addr()}, Timeout: 300 * time.Millisecond, OnBreakerChange: func(_ string, away bool) { told <- away },
	})
	require.NoError(t, c.Set(t.Context(), "k", 1, 0).Err())
	require.False(t, <-told, "it is up from the first")
	for fault, steps := range map[string]struct{ begin, end func() error }{
		"stopped": {r.Pause, r.Resume},
		"killed":  {r.Kill, func() error { return r.Restart(t.Context()) }},
	} {
		require.NoError(t, steps.begin())
		took := untilOpen(t, c, "k")
		require.Less(t, took, 1500*time.Millisecond, "three timeouts")
		require.True(t, <-told)
		for range 50 {
			began := time.Now()
			require.ErrorIs(t, c.Incr(t.Context(), "n").Err(), breaker.ErrOpen)
			cmds, err := c.Pipelined(t.Context(), func(p redis.Pipeliner) error { return p.Incr(t.Context(), "n").Err() })
			require.ErrorIs(t, err, breaker.ErrOpen)
			require.ErrorIs(t, cmds[0].Err(), breaker.ErrOpen)
			require.Less(t, time.Since(began), quick)
		}
		require.NoError(t, steps.end())
		began := time.Now()
		require.Eventually(t, func() bool { return c.Set(t.Context(), "k", 2, 0).Err() == nil }, 5*time.Second, time.Millisecond)
		t.Logf("%s: refused after %s, asked again after %s", fault, took, time.Since(began))
		require.False(t, <-told)
		require.ErrorIs(t, c.Get(t.Context(), "n").Err(), redis.Nil, "nothing was sent while it was away")
	}
}

func TestBreaker_OneMasterDead_OthersGoOn(t *testing.T) {
	t.Parallel()
	// Otherwise the nodes themselves refuse everything until the dead one is replaced.
	group := testservers.NewCluster(t, servers.Set("cluster-require-full-coverage", "no"))
	c := open(t, redisconn.Options{Mode: redisconn.Cluster, Addrs: group.Addrs(), Timeout: 300 * time.Millisecond})
	require.NoError(t, c.Set(t.Context(), "k", 1, 0).Err())
	dead := owner(t, c, group, "k")
	other := "a"
	for owner(t, c, group, other) == dead {
		other += "a"
	}
	require.NoError(t, c.Set(t.Context(), other, 1, 0).Err())
	require.NoError(t, dead.Pause())
	defer func() { require.NoError(t, dead.Resume()) }()
	began, slowest := time.Now(), time.Duration(0)
	for recovered := false; !recovered; {
		require.Less(t, time.Since(began), 20*time.Second)
		one := time.Now()
		require.NoError(t, c.Incr(t.Context(), other).Err(), "the others answer on")
		slowest = max(slowest, time.Since(one))
		recovered = c.Set(t.Context(), "k", 2, 0).Err() == nil
	}
	t.Logf("its slots were back after %s, the slowest answer of another took %s", time.Since(began), slowest)
}

// What a caller does to itself tells nothing of the server.
func TestBreaker_CallerWithoutTime_CountsNoTimeout(t *testing.T) {
	r := testservers.NewRedis(t)
	c := open(t, redisconn.Options{Addrs: []string{r.Addr()}, Timeout: 5 * time.Second})
	for range 10 {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.Error(t, c.Get(ctx, "k").Err())
		ctx, cancel = context.WithTimeout(t.Context(), time.Millisecond)
		require.Error(t, c.BLPop(ctx, time.Second, "nothing").Err())
		cancel()
	}
	require.NoError(t, c.Set(t.Context(), "k", 1, 0).Err())
	require.NoError(t, c.Get(t.Context(), "k").Err())
	require.ErrorIs(t, c.Get(t.Context(), "none").Err(), redis.Nil)
}

// Whoever has waited for a connection for as long as a server may take to answer, and then goes,
// tells nothing of it either.
func TestBreaker_CallerTimedOutWaiting_CountsNoTimeout(t *testing.T) {
	t.Parallel()
	r := testservers.NewRedis(t)
	told := make(chan bool, 64)
	const timeout = 4 * time.Second
	c := open(t, redisconn.Options{
		Addrs: []string{r.Addr()}, PoolSize: 1, Timeout: timeout, OnBreakerChange: func(_ string, away bool) { told <- away },
	})
	require.False(t, <-told, "it is up from the first")
	other := open(t, redisconn.Options{Addrs: []string{r.Addr()}})
	taken := make(chan error, 1)
	go func() { taken <- c.BLPop(t.Context(), time.Minute, "list").Err() }()
	require.Eventually(t, func() bool {
		list, err := other.ClientList(t.Context()).Result()
		return err == nil && strings.Contains(list, "cmd=blpop")
	}, 10*time.Second, time.Millisecond)

	ctx, leave := context.WithCancel(t.Context())
	const callers = 10
	gone := make(chan error, callers)
	for range callers {
		go func() { gone <- c.Get(ctx, "k").Err() }()
	}
	time.Sleep(timeout * 6 / 10)
	leave()
	for range callers {
		require.ErrorIs(t, <-gone, context.Canceled)
	}
	require.NoError(t, other.RPush(t.Context(), "list", 1).Err())
	require.NoError(t, <-taken)
	require.ErrorIs(t, c.Get(t.Context(), "k").Err(), redis.Nil)
	require.Empty(t, told, "it was found to be away")
}
