package order_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/testing/apptest"
)

// raise puts so many units on sale, through the given instance.
func raise(t *testing.T, s *apptest.Shop, c coupon.Coupon, units int64) {
	t.Helper()
	_, err := s.Coupons.Patch(t.Context(), c.ID, coupon.Change{Total: &units})
	require.NoError(t, err)
}

// listening lets each instance hear the announcements until the test ends.
func listening(t *testing.T, all ...*apptest.Shop) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var listeners sync.WaitGroup
	for _, s := range all {
		listeners.Go(func() { s.Stock.Listen(ctx, s.Cache.Invalidate) })
	}
	t.Cleanup(func() { stop(); listeners.Wait() })
	require.Eventually(t, func() bool {
		n, err := all[0].Redis.PubSubNumSub(t.Context(), "seckill:events").Result()
		return err == nil && n["seckill:events"] == int64(len(all))
	}, patient, soon)
}

// An instance of these tests forgets by itself for an hour nothing that it refuses from memory.
func TestRaise_SaleUnderLoad_SellsExactlyTheRaisedTotal(t *testing.T) {
	apptest.OnBoth(t, func(t *testing.T, s *apptest.Shop) {
		fleet := []*apptest.Shop{s, s.Another(t, nil)}
		listening(t, fleet...)
		c := s.Sell(t, 40, 1)
		var crowd sync.WaitGroup
		var users, sold atomic.Int64
		ctx, stop := context.WithCancel(t.Context())
		for range 8 {
			crowd.Go(func() {
				for ctx.Err() == nil {
					user := users.Add(1)
					_, err := fleet[user%2].Service.Place(t.Context(), apptest.Request(c, user, ""))
					switch {
					case err == nil:
						sold.Add(1)
					case errors.Is(err, coupon.ErrSoldOut):
						time.Sleep(time.Millisecond) // or refusals alone would keep the machine busy
					default:
						assert.NoError(t, err, "a buyer meets no pause")
					}
				}
			})
		}
		auditing := func(until func() bool) {
			require.Eventually(t, func() bool {
				r, err := s.Auditor.Audit(t.Context(), c.ID)
				require.NoError(t, err)
				require.Empty(t, r.Violations)
				return until()
			}, 2*patient, time.Millisecond)
		}
		total := int64(40)
		for n, more := range []int64{1, 30, 60, 200, 7} {
			if n%2 == 0 { // the others come while units are left
				auditing(func() bool { return sold.Load() == total })
			}
			total += more
			raise(t, fleet[n%2], c, total)
		}
		auditing(func() bool { return sold.Load() >= total })
		stop()
		crowd.Wait()
		require.Equal(t, total, sold.Load())
		require.Equal(t, total, s.RequireConsistent(t, c, total).Total)
		loaded, err := s.Stock.Loaded(t.Context(), c.ID, c.Epoch, c.Shards)
		require.NoError(t, err)
		require.True(t, loaded, "nothing was loaded again")
	})
}

func TestRaise_QueueOfASoldOutSale_TakesMoreBuyers(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		c := s.sell(t, shards, 1)
		here, elsewhere := s.queueing("here"), s.queueing("elsewhere")
		for user := int64(1); user <= shards; user++ {
			queued(t, here, c, user, "k")
		}
		_, err := here.Place(t.Context(), wish(c, 50, "k"))
		require.ErrorIs(t, err, coupon.ErrSoldOut)
		raise(t, s.in, c, 2*shards)
		for user := int64(51); user <= 50+shards; user++ {
			queued(t, here, c, user, "k")
		}
		consuming(t, s, s.drained(t, c), here, elsewhere)
		s.atRest(t, c, 2*shards)
	})
}
