package order_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// slowShards need some time to answer for a group of coupons.
type slowShards struct {
	order.Shards
	takes time.Duration
	err   error
	asked map[int64]int
}

func (s *slowShards) OldShards(ctx context.Context, all []coupon.Coupon, _ time.Duration) ([][]int, []error) {
	select {
	case <-time.After(s.takes):
	case <-ctx.Done():
	}
	errs := make([]error, len(all))
	for i, c := range all {
		s.asked[c.ID]++
		errs[i] = s.err
	}
	return make([][]int, len(all)), errs
}

// idleDatabase has nothing to expire or to deliver, and counts how often it is asked.
type idleDatabase struct {
	order.Database
	overdue, restocks int
}

func (d *idleDatabase) Overdue(context.Context, time.Time) (bool, error) {
	d.overdue++
	return false, nil
}

func (d *idleDatabase) DueRestocks(context.Context, int64, int) ([]order.Restock, error) {
	d.restocks++
	return nil, nil
}

// runFor runs the background jobs for so long, with a tick each second.
func runFor(t *testing.T, d time.Duration, shards order.Shards, db order.Database, coupons, perCoupon int, onPass func(job string, n int, err error)) {
	t.Helper()
	var all []coupon.Coupon
	for id := int64(1); id <= int64(coupons); id++ {
		all = append(all, coupon.Coupon{ID: id, Shards: perCoupon, EndsAt: time.Now().Add(time.Hour)})
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	r := order.NewReconciler(order.ReconcilerDeps{Shards: shards, DB: db, Locker: admitAll{}, Log: slog.New(slog.DiscardHandler)})
	running.Go(func() {
		r.Run(ctx, order.Schedule{
			Every: time.Second, OnPass: onPass,
			Loaded: func(context.Context) ([]coupon.Coupon, error) { return all, nil },
		})
	})
	time.Sleep(d)
	stop()
	running.Wait()
}

func TestReconcilerRun_PassIsCutOff_NextGoesOnBehindIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const coupons = 40
		shards, db := &slowShards{takes: 2600 * time.Millisecond, asked: map[int64]int{}}, &idleDatabase{}
		runFor(t, 3*time.Minute, shards, db, coupons, 200, nil)
		require.Len(t, shards.asked, coupons, "every coupon is looked at, although a pass reaches only a few")
		require.Greater(t, db.overdue, 170, "expiry does not wait for the reconciler")
		require.Greater(t, db.restocks, 170, "the relay does not wait for the reconciler")
	})
}

func TestReconcilerRun_EveryCouponFails_WarningIsShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shards := &slowShards{err: errFault, asked: map[int64]int{}}
		var told error
		runFor(t, 1500*time.Millisecond, shards, &idleDatabase{}, 400, 8, func(_ string, _ int, err error) { told = err })
		require.ErrorIs(t, told, errFault)
		require.ErrorContains(t, told, "and 397 more errors")
		require.Less(t, len(told.Error()), 400)
	})
}

// Each instance may run a pass at each tick, so a pass looks at a part of many shards, and the passes at all in turn.
func TestReconcilerRun_ManyShards_PassLooksAtAPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const coupons, perCoupon = 2000, 8
		shards := &slowShards{asked: map[int64]int{}}
		runFor(t, 1500*time.Millisecond, shards, &idleDatabase{}, coupons, perCoupon, nil)
		require.Len(t, shards.asked, 4096/perCoupon, "the first pass")
		clear(shards.asked)
		runFor(t, 4500*time.Millisecond, shards, &idleDatabase{}, coupons, perCoupon, nil)
		require.Len(t, shards.asked, coupons, "four passes")
	})
}
