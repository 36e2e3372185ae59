package apptest

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/tools/servers"
)

// Size returns the size of the sale that a benchmark plays: SECKILL_SIZE, or small.
func Size(b *testing.B, small int) int {
	b.Helper()
	text := os.Getenv("SECKILL_SIZE")
	if text == "" {
		return small
	}
	n, err := strconv.Atoi(text)
	require.NoError(b, err)
	return n
}

// SoldOut makes a sale of n units and sells each unit to a different buyer. The orders have the given status.
// SoldOut writes the rows with SQL and the data of the shards with Redis commands, as n purchases would have
// left them.
func (s *Shop) SoldOut(b *testing.B, n int, status string) coupon.Coupon {
	b.Helper()
	c := s.Sell(b, int64(n), 1)
	const page = 10_000
	for first := 1; first <= n; first += page {
		rows := make([]string, 0, page)
		for id := first; id < min(n+1, first+page); id++ {
			rows = append(rows, fmt.Sprintf("(%d,%d,%d,1,'%s',990,'r%d',%d,1,UTC_TIMESTAMP(3),UTC_TIMESTAMP(3))",
				id, c.ID, id, status, id, coupon.Home(int64(id), Shards)))
		}
		s.Exec(b, "INSERT INTO orders (id, coupon_id, user_id, slot, status, price_cents, request_id, shard, fence, created_at, expires_at)"+
			" VALUES "+strings.Join(rows, ","))
	}
	s.Exec(b, fmt.Sprintf("INSERT INTO fences SELECT seq, 1 FROM seq_1_to_%d", n))
	s.Exec(b, "UPDATE coupons SET stock = 0 WHERE id = ?", c.ID)
	c, err := s.Coupons.Reload(b.Context(), c.ID)
	require.NoError(b, err)
	for first := 1; first <= n; first += page {
		_, err := s.Redis.Pipelined(context.Background(), func(p redis.Pipeliner) error {
			for id := first; id < min(n+1, first+page); id++ {
				home := coupon.Home(int64(id), Shards)
				p.HSet(b.Context(), Key(c, home, "requests"), "r"+strconv.Itoa(id), id)
			}
			return nil
		})
		require.NoError(b, err)
	}
	return c
}

// Slowest returns how long one call of this test kept Redis busy at most, in milliseconds. It counts the calls
// since WatchSlowest.
func (s *Shop) Slowest(b *testing.B) float64 {
	b.Helper()
	calls, err := s.Redis.(*redis.Client).SlowLogGet(b.Context(), 10_000).Result()
	require.NoError(b, err)
	var slowest time.Duration
	for _, call := range calls {
		slowest = max(slowest, call.Duration)
	}
	return float64(slowest.Microseconds()) / 1000
}

// WatchSlowest makes Redis log the calls that take longer than a tenth of a millisecond.
func (s *Shop) WatchSlowest(b *testing.B) {
	b.Helper()
	for name, value := range map[string]string{"slowlog-log-slower-than": "100", "slowlog-max-len": "10000"} {
		require.NoError(b, s.Redis.ConfigSet(b.Context(), name, value).Err())
	}
	require.NoError(b, s.Redis.(*redis.Client).Do(b.Context(), "SLOWLOG", "RESET").Err())
}

// Peak returns the most memory, in MiB, that the process has had since ResetPeak.
func Peak(b *testing.B) float64 {
	b.Helper()
	bytes, err := servers.PeakMemory(os.Getpid())
	require.NoError(b, err)
	return float64(bytes) / (1 << 20)
}

// ResetPeak resets Peak and returns the memory that the process has now, in MiB.
func ResetPeak(b *testing.B) float64 {
	b.Helper()
	require.NoError(b, servers.ResetPeakMemory(os.Getpid()))
	return Peak(b)
}
