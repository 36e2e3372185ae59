package main

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"seckill/internal/coupon"
	"seckill/internal/lock"
	"seckill/internal/order"
)

// work starts what goes on beside the requests; it ends before anything that it
// needs is closed.
func (a *app) work(ctx context.Context) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	running.Go(func() { boundMemory(ctx) })
	running.Go(func() { a.cache.Run(ctx) })
	running.Go(func() { a.stock.Listen(ctx, a.cache.Forget) })
	running.Go(func() { a.fleet.Run(ctx) })
	running.Go(func() { a.watchClocks(ctx) })
	running.Go(func() {
		a.coupons.RunRestorer(ctx, watchEvery, func(n int, err error) { a.metrics.ObservePass("restore", n, err) })
	})
	running.Go(func() {
		a.reconciler.Run(ctx, order.Schedule{
			Every: a.cfg.Order.BackgroundInterval, ReconcileAfter: a.cfg.Order.ReconcileAfter,
			Loaded: a.store.Coupons().Loaded, OnPass: a.metrics.ObservePass,
		})
	})
	running.Go(func() { a.freeing(ctx) })
	a.onStop(func(context.Context) error {
		cancel()
		running.Wait()
		return nil
	})
}

const (
	// freeEvery is how often coupons are looked for whose shards nobody needs any more,
	// and freeWithin bounds a pass.
	freeEvery  = time.Minute
	freeWithin = 30 * time.Second
)

// freeing drops, on one instance at a time, what Redis has of the sales that ended long
// ago, until ctx ends.
func (a *app) freeing(ctx context.Context) {
	tick := time.NewTicker(freeEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		freed := 0
		err := a.leases.Do(ctx, "job:free", func(ctx context.Context, _ *lock.Lease) (err error) {
			ctx, cancel := context.WithTimeout(ctx, freeWithin)
			defer cancel()
			freed, err = a.coupons.Free(ctx)
			return err
		}, lock.WithWait(0))
		switch {
		case errors.Is(err, lock.ErrNotAcquired), ctx.Err() != nil:
		case err != nil:
			a.log.WarnContext(ctx, "the shards of ended sales were not freed", "error", err)
			fallthrough
		case freed > 0:
			a.metrics.ObservePass("free", freed, err)
		}
	}
}

// hands is how many entries of the queues an instance serves at once: with group
// commit a few groups' worth.
const hands = 256

// consume serves the queues. It is the first to stop, with what it has in hand
// finished.
func (a *app) consume(ctx context.Context) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	running.Go(func() {
		a.orders.RunWorkers(ctx, order.WorkerConfig{
			Loaded: a.queues, MaxAge: a.cfg.Order.QueueMaxAge, AttemptTimeout: a.cfg.HTTP.RequestTimeout, Concurrency: hands, OnEvent: a.metrics.ObservePass,
		})
	})
	a.onStop(func(context.Context) error {
		cancel()
		running.Wait()
		return nil
	})
}

// queues lists the coupons that may have requests in their queues: those on sale or
// paused, and those whose sale has just ended.
func (a *app) queues(ctx context.Context) ([]coupon.Coupon, error) {
	loaded, err := a.store.Coupons().Loaded(ctx)
	return slices.DeleteFunc(loaded, func(c coupon.Coupon) bool {
		return a.clock.Now().Sub(c.EndsAt) > time.Minute
	}), err
}

// watchEvery is how soon an instance notices that Redis has lost or forgotten
// something. A look is one script a shard of each coupon that is on sale or paused.
const watchEvery = time.Second
