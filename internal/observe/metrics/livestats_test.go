package metrics_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/observe/metrics"
	"example.com/seckill/internal/order"
)

func TestLiveStats_P99_CoversLastSecondsOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := metrics.New()
		require.Zero(t, m.Live.P99(), "nothing was accepted")
		accept := func(n int, d time.Duration) {
			for range n {
				m.ObservePurchase(http.StatusCreated, "", d)
			}
		}
		accept(990, 2*time.Millisecond)
		accept(10, 80*time.Millisecond)
		require.InEpsilon(t, float64(2*time.Millisecond), float64(m.Live.P99()), 0.11, "99 of 100 were as fast")
		accept(20, 80*time.Millisecond)
		require.InEpsilon(t, float64(80*time.Millisecond), float64(m.Live.P99()), 0.11)
		for range 100 {
			m.ObservePurchase(http.StatusConflict, "sold_out", time.Hour)
		}
		require.Less(t, m.Live.P99(), time.Second, "a refusal is no order")

		time.Sleep(3 * time.Second)
		accept(1000, 300*time.Microsecond)
		require.Greater(t, m.Live.P99(), 70*time.Millisecond, "three seconds are not five")
		time.Sleep(3 * time.Second)
		require.Less(t, m.Live.P99(), time.Millisecond)
		time.Sleep(3 * time.Second)
		require.Zero(t, m.Live.P99())
		accept(1, time.Hour)
		require.Positive(t, m.Live.P99())
	})
}

func TestLiveStats_Steps_CountUnitsLentAndLocksHeld(t *testing.T) {
	m := metrics.New()
	hook := m.Live.Hook(func(userID int64, shards int) int { return int(userID) % shards })
	reserve := func(err error) {
		var all []*order.Attempt
		for user := range int64(8) {
			all = append(all, &order.Attempt{Err: err, Hold: order.Hold{CouponID: 1, UserID: user, Shards: 4, Shard: 2}})
		}
		hook(t.Context(), order.StepReserve, all, nothing)
	}
	reserve(nil)
	require.Equal(t, []int64{0, 0, 6, 0}, m.Live.Lent(1, 4), "users 2 and 6 are at home there")
	require.Equal(t, []int64{0, 0}, m.Live.Lent(2, 2))
	reserve(errAway)
	require.Equal(t, []int64{0, 0, 6, 0}, m.Live.Lent(1, 4))

	locks := func() []int64 {
		held, waiting := m.Live.Locks()
		return []int64{held, waiting}
	}
	three := []*order.Attempt{{}, {}, {}}
	hook(t.Context(), order.StepLock, three, func(ctx context.Context) {
		require.Equal(t, []int64{0, 3}, locks())
		hook(ctx, order.StepWork, three[:2], func(context.Context) { require.Equal(t, []int64{2, 0}, locks()) })
		require.Equal(t, []int64{0, 0}, locks())
	})
	hook(t.Context(), order.StepLock, three, nothing)
	require.Equal(t, []int64{0, 0}, locks(), "an attempt that gave up waits no more")
}

// BenchmarkObservePurchase measures what an accepted order costs, on every core at once.
func BenchmarkObservePurchase(b *testing.B) {
	m := metrics.New()
	b.SetParallelism(64) // each order has a goroutine of its own
	b.RunParallel(func(pb *testing.PB) {
		for d := time.Millisecond; pb.Next(); d += time.Microsecond {
			m.ObservePurchase(http.StatusCreated, "", d)
		}
	})
}
