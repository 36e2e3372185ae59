package order_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/order"
)

// running is the background work of some instances; stop waits for its end.
func running(t *testing.T, w order.Schedule, instances ...*order.Reconciler) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for _, one := range instances {
		all.Go(func() { one.Run(ctx, w) })
	}
	stop = func() {
		cancel()
		all.Wait()
	}
	t.Cleanup(stop)
	return stop
}

func TestSchedule_TwoInstances_FinishOpenOrders(t *testing.T) {
	s := open(t)
	c := s.sell(t, 10, 1)
	s.abandoned(t, c, 1, "after reserve")
	s.abandoned(t, c, 2, "before confirm")
	s.cancelled(t, c, 3)
	late := s.buy(t, c, 4, "")
	_, err := s.Pay(t.Context(), s.buy(t, c, 5, "").ID, 5)
	require.NoError(t, err)
	s.later(paymentTimeout)

	var did sync.Map
	var inside, most atomic.Int32
	other := s.reconcilerWith(func(p *order.ReconcilerDeps) { p.Locker = s.locker(t, 0) })
	stop := running(t, order.Schedule{
		Every: time.Millisecond,
		Loaded: func(ctx context.Context) ([]coupon.Coupon, error) {
			most.Store(max(most.Load(), inside.Add(1)))
			defer inside.Add(-1)
			return s.db.Coupons().Loaded(ctx, time.Now())
		},
		OnPass: func(job string, n int, err error) {
			if err == nil && n > 0 {
				did.Store(job, true)
			}
		},
	}, s.Reconciler, other)
	require.Eventually(t, func() bool {
		report, err := s.auditor.Audit(t.Context(), c.ID)
		due, derr := s.db.DueRestocks(t.Context(), 0, 1)
		return errors.Join(err, derr) == nil && report.Settled && report.Live == 1 && len(due)+len(s.in.OpenHolds(t, c)) == 0
	}, patient, soon)
	stop()
	require.EqualValues(t, 1, most.Load(), "a job runs on one instance at a time")
	for _, job := range []string{"expire", "relay", "reconcile"} {
		_, told := did.Load(job)
		require.True(t, told, job)
	}
	o, err := s.Get(t.Context(), late.ID, 4)
	require.NoError(t, err)
	require.Equal(t, order.Expired, o.Status)
	s.atRest(t, c, 1)
}

func TestSchedule_TaskOfAnotherInstance_IsSkippedWithoutError(t *testing.T) {
	s := open(t)
	c := s.sell(t, shards, 1)
	s.abandoned(t, c, 1, "after reserve")
	passes := make(chan string, 1000)
	err := s.locker(t, 0).Do(t.Context(), "job:reconcile", func(context.Context, *lock.Lease) error {
		tells := telling{s.reconcilerDeps.Locker, passes}
		stop := running(t, order.Schedule{Every: time.Millisecond, OnPass: func(job string, _ int, err error) {
			t.Errorf("%s was done: %v", job, err)
		}}, s.reconcilerWith(func(p *order.ReconcilerDeps) { p.Locker = tells }))
		defer stop()
		for seen := 0; seen < 2; {
			if <-passes == "job:reconcile" {
				seen++
			}
		}
		return nil
	})
	require.NoError(t, err)
	s.settled(t, c, 0)
}

// telling tells of each key that was asked for, when it has been done with.
type telling struct {
	order.Locker
	keys chan<- string
}

func (l telling) Do(ctx context.Context, key string, work func(context.Context, *lock.Lease) error, opts ...lock.Option) error {
	defer func() { l.keys <- key }()
	return l.Locker.Do(ctx, key, work, opts...)
}

func TestSchedule_PassFails_ReportsErrorAndRetries(t *testing.T) {
	s := open(t)
	told := make(chan error, 1000)
	stop := running(t, order.Schedule{
		Every:  time.Millisecond,
		Loaded: func(context.Context) ([]coupon.Coupon, error) { return nil, errFault },
		OnPass: func(_ string, _ int, err error) { told <- err },
	}, s.Reconciler)
	for range 2 {
		require.ErrorIs(t, <-told, errFault)
	}
	stop()
}

// One coupon whose shards cannot be read keeps no other from being reconciled.
func TestSchedule_CouponNotLoaded_IsSkipped(t *testing.T) {
	s := open(t)
	c := s.sell(t, shards, 1)
	s.abandoned(t, c, 1, "after reserve")
	gone := coupon.Coupon{ID: 99, Shards: shards}
	done := make(chan error, 1000)
	holds := missing{s.stock, gone.ID}
	reconciler := s.reconcilerWith(func(p *order.ReconcilerDeps) { p.Shards = holds })
	stop := running(t, order.Schedule{
		Every:  time.Millisecond,
		Loaded: func(context.Context) ([]coupon.Coupon, error) { return []coupon.Coupon{gone, c}, nil },
		OnPass: func(_ string, _ int, err error) { done <- err },
	}, reconciler)
	require.NoError(t, <-done)
	stop()
	s.atRest(t, c, 0)
}

// Its holds have long been reconciled, and each look costs every shard a command.
func TestSchedule_SaleEndedLongAgo_IsCheckedRarely(t *testing.T) {
	s := open(t)
	c := s.sell(t, shards, 1)
	ended := c
	ended.EndsAt = time.Now().Add(-time.Hour)
	looks, passes := map[int64]int{}, 0
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	reconciler := s.reconcilerWith(func(p *order.ReconcilerDeps) {
		p.Shards = looked{p.Shards, func(c coupon.Coupon) { looks[c.EndsAt.Unix()]++ }}
	})
	reconciler.Run(ctx, order.Schedule{Every: time.Millisecond, Loaded: func(context.Context) ([]coupon.Coupon, error) {
		if passes++; passes == 65 {
			stop()
			return nil, nil
		}
		return []coupon.Coupon{c, ended}, nil
	}})
	require.Equal(t, 64, looks[c.EndsAt.Unix()])
	require.Equal(t, 2, looks[ended.EndsAt.Unix()])
}

// looked tells of each coupon whose holds are looked at.
type looked struct {
	order.Shards
	at func(c coupon.Coupon)
}

func (l looked) OldShards(ctx context.Context, all []coupon.Coupon, age time.Duration) ([][]int, []error) {
	for _, c := range all {
		l.at(c)
	}
	return l.Shards.OldShards(ctx, all, age)
}

// missing has no shards of one coupon.
type missing struct {
	order.Shards
	id int64
}

func (m missing) OldShards(ctx context.Context, all []coupon.Coupon, age time.Duration) ([][]int, []error) {
	shards, errs := m.Shards.OldShards(ctx, all, age)
	for i, c := range all {
		if c.ID == m.id {
			shards[i], errs[i] = nil, coupon.ErrNotLoaded
		}
	}
	return shards, errs
}
