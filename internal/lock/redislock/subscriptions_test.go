package redislock

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/testservers"
)

func TestSubscription_ConsecutiveWaiters_ShareOne(t *testing.T) {
	c := dialed(t, testservers.NewRedis(t).Addr())
	b := New(c, Options{})
	key := "user:next"
	most := 1
	for range 5 {
		freed, cancel, err := b.Subscribe(t.Context(), key, "token")
		require.NoError(t, err)
		require.NoError(t, c.Publish(t.Context(), namesOf(key).channel, namesOf(key).lock).Err())
		require.Eventually(t, func() bool { return len(freed) == 1 }, 5*time.Second, time.Millisecond, "it hears")
		left := time.Now()
		cancel()
		cancel()       // once more changes nothing
		for range 10 { // the time that a holder needs
			require.NoError(t, c.Ping(t.Context()).Err())
		}
		if time.Since(left) > 50*time.Millisecond { // on a busy machine the next may come too late to share
			most++
		}
	}
	stats := c.Info(t.Context(), "commandstats").Val()
	_, after, _ := strings.Cut(stats, "cmdstat_subscribe:calls=")
	calls, _, _ := strings.Cut(after, ",")
	n, err := strconv.Atoi(calls)
	require.NoError(t, err)
	require.LessOrEqual(t, n, most)
	require.Eventually(t, func() bool {
		return len(c.PubSubChannels(t.Context(), "*").Val()) == 0
	}, 5*time.Second, 5*time.Millisecond, "nobody waits, so nobody listens")
}
