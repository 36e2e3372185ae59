package order_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/apptest"
)

// BenchmarkExpire tells how many unpaid orders expire in a second:
//
//	SECKILL_SIZE=5000 go test -run '^$' -bench Expire -benchtime 1x ./internal/order
func BenchmarkExpire(b *testing.B) {
	n := apptest.Size(b, 500)
	for b.Loop() {
		b.StopTimer()
		s := apptest.Open(b)
		c := s.SoldOut(b, n, "pending")
		s.Later(time.Second)
		began := time.Now()
		b.StartTimer()
		for done := 0; done < n; {
			some, err := s.Reconciler.Expire(b.Context())
			require.NoError(b, err)
			done += some
		}
		_, err := s.Reconciler.Relay(b.Context())
		require.NoError(b, err)
		b.ReportMetric(float64(n)/time.Since(began).Seconds(), "orders/s")
		s.RequireConsistent(b, c, 0)
	}
}

// BenchmarkReconcileQueued tells for how long another client of Redis has to wait while the
// reconciler looks through shards with so many young holds each:
//
//	SECKILL_SIZE=75000 go test -run '^$' -bench ReconcileQueued -benchtime 5x ./internal/order
func BenchmarkReconcileQueued(b *testing.B) {
	n := apptest.Size(b, 1000)
	s := apptest.Open(b)
	c := s.Sell(b, 10, 1)
	now := strconv.FormatInt(time.Now().UnixMilli(), 10)
	for k := range apptest.Shards {
		for first := 0; first < n; first += 10_000 {
			_, err := s.Redis.Pipelined(b.Context(), func(p redis.Pipeliner) error {
				for i := first; i < min(n, first+10_000); i++ {
					id := strconv.Itoa(1_000_000*k + i)
					p.HSet(b.Context(), apptest.Key(c, k, "holds"), id, "own r"+id+" "+id+" "+now+" ,"+id+", 1")
					p.ZAdd(b.Context(), apptest.Key(c, k, "ages"), redis.Z{Score: float64(time.Now().UnixMilli()), Member: id})
				}
				return nil
			})
			require.NoError(b, err)
		}
	}
	other := redis.NewClient(&redis.Options{Addr: s.Redis.(*redis.Client).Options().Addr})
	b.Cleanup(func() { require.NoError(b, other.Close()) })
	ctx, stop := context.WithCancel(b.Context())
	longest := make(chan time.Duration)
	go func() {
		var worst time.Duration
		for ctx.Err() == nil {
			began := time.Now()
			if other.Ping(context.Background()).Err() == nil {
				worst = max(worst, time.Since(began))
			}
			time.Sleep(time.Millisecond)
		}
		longest <- worst
	}()
	s.WatchSlowest(b)
	for b.Loop() {
		n, err := s.Reconciler.Reconcile(b.Context(), c, time.Hour)
		require.NoError(b, err)
		require.Zero(b, n)
	}
	stop()
	b.ReportMetric(s.Slowest(b), "ms/slowest-call")
	b.ReportMetric(float64((<-longest).Microseconds())/1000, "ms/longest-ping")
}
