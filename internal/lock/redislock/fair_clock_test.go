package redislock

import (
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/testing/testservers"
)

// A place that lasts for longer than any can is what is left when the clock is set back.
func TestFairMode_ClockSetBack_DeadWaitersExpire(t *testing.T) {
	c := dialed(t, testservers.Redis(t).Addr())
	b, key, n := New(c, Options{Fair: true, PlaceTTL: 300 * time.Millisecond}), "user:"+t.Name(), namesOf("user:"+t.Name())
	now, err := c.Time(t.Context()).Result()
	require.NoError(t, err)
	for i, dead := range []string{"one", "another", "a third"} {
		require.NoError(t, c.ZAdd(t.Context(), n.waitQueue(), redis.Z{Score: float64(i), Member: dead}).Err())
		until := strconv.FormatInt(now.Add(20*time.Second).UnixMicro(), 10)
		require.NoError(t, c.HSet(t.Context(), n.places(), dead, until).Err())
	}
	began := time.Now()
	_, err = b.Acquire(t.Context(), key, "token", time.Minute)
	var held *lock.HeldError
	require.ErrorAs(t, err, &held)
	require.LessOrEqual(t, held.Remaining, 301*time.Millisecond)
	require.Eventually(t, func() bool {
		_, err = b.AcquireInTurn(t.Context(), key, "token", time.Minute)
		return err == nil
	}, 15*time.Second, time.Millisecond)
	require.GreaterOrEqual(t, time.Since(began), 290*time.Millisecond, "so long they might have come back")
	require.NoError(t, b.Release(t.Context(), key, "token"))
}
