package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/lottery"
	"example.com/seckill/internal/order"
	"example.com/seckill/internal/platform/ratelimit"
)

// startBackground starts the background work.
func (a *App) startBackground(ctx context.Context) {
	a.inBackground(ctx, adjustMemoryLimit, a.Cache.Run, a.fleet.Run, a.unpaid.run, a.watchClocks, a.watchRedis, a.freeEndedSales,
		func(ctx context.Context) { a.Stock.Listen(ctx, a.Cache.Invalidate) },
		func(ctx context.Context) {
			a.Coupons.RunRestorer(ctx, restoreInterval, func(n int, err error) { a.metrics.ObservePass("restore", n, err) })
		},
		func(ctx context.Context) {
			a.Reconciler.Run(ctx, order.Schedule{
				Every: a.cfg.Order.BackgroundInterval, ReconcileAfter: a.cfg.Order.ReconcileAfter,
				Loaded: a.loadedCoupons, OnPass: a.metrics.ObservePass,
			})
		})
}

// inBackground starts jobs, which end before anything that was opened before is closed.
func (a *App) inBackground(ctx context.Context, jobs ...func(context.Context)) {
	stop := startJobs(ctx, jobs...)
	a.onStop(func(context.Context) error { stop(); return nil })
}

// startJobs starts jobs that go on after ctx. stop ends their context, and returns when they have ended.
func startJobs(ctx context.Context, jobs ...func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	for _, job := range jobs {
		running.Go(func() { job(ctx) })
	}
	return func() { cancel(); running.Wait() }
}

// every calls do at each tick of the interval until ctx ends. A tick that do outlasts is left out.
func every(ctx context.Context, interval time.Duration, do func()) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		do()
	}
}

// shareRates makes the rate limits those of the fleet.
func (a *App) shareRates(limits []ratelimit.Shared) {
	a.inBackground(context.Background(), func(ctx context.Context) {
		ratelimit.Run(ctx, ratelimit.NewRedis(a.redis, a.cfg.Redis.Prefix), a.log, limits...)
	})
}

const (
	// freeEvery is how many ticks of order.background_interval lie between passes that free the
	// shards of ended sales, and freeTimeout bounds a pass.
	freeEvery   = 60
	freeTimeout = 30 * time.Second
)

// freeEndedSales deletes from Redis what belongs to sales that ended long ago, on one instance
// at a time, until ctx ends.
func (a *App) freeEndedSales(ctx context.Context) {
	every(ctx, freeEvery*a.cfg.Order.BackgroundInterval, func() {
		freed := 0
		err := a.leases.Do(ctx, "job:free", func(ctx context.Context, _ *lock.Lease) (err error) {
			ctx, cancel := context.WithTimeout(ctx, freeTimeout)
			defer cancel()
			freed, err = a.Coupons.Free(ctx)
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
	})
}

// runDraws draws the tickets of the coupons whose time has come, until ctx ends.
func (a *App) runDraws(ctx context.Context) {
	a.lottery.RunDraws(ctx, lottery.Schedule{
		Every: min(a.cfg.Order.BackgroundInterval, 250*time.Millisecond), Known: a.Cache.Cached, Loaded: a.loadedCoupons, Locker: a.leases,
		OnFailure: func(err error) { a.metrics.ObservePass("draw", 0, err) },
	})
}

// workerConcurrency is how many queue entries an instance processes at once: with group
// commit, enough for a few groups.
const workerConcurrency = 256

// startWorkers starts the workers of the queues. They stop first, when the entries in hand are
// finished.
func (a *App) startWorkers(ctx context.Context) {
	jobs := []func(context.Context){func(ctx context.Context) {
		a.orders.RunWorkers(ctx, order.WorkerConfig{
			Loaded: a.queuedCoupons, MaxAge: a.cfg.Order.QueueMaxAge, AttemptTimeout: a.cfg.HTTP.RequestTimeout,
			Concurrency: workerConcurrency, OnEvent: a.metrics.ObservePass, Begin: a.traces.Entry,
		})
	}}
	if a.lottery != nil {
		jobs = append(jobs, a.runDraws)
	}
	a.inBackground(ctx, jobs...)
}

// loadedCoupons returns the coupons whose stock is in Redis, by the time of most clocks.
func (a *App) loadedCoupons(ctx context.Context) ([]coupon.Coupon, error) {
	return a.store.Coupons().Loaded(ctx, a.clock.Now())
}

// queuedCoupons returns the coupons that may have requests in their queues: those on sale or
// paused, and those whose sale ended less than a minute ago.
func (a *App) queuedCoupons(ctx context.Context) ([]coupon.Coupon, error) {
	if err := a.Stock.CheckLayout(); err != nil {
		return nil, err // the entries of a newer program are left to it
	}
	loaded, err := a.loadedCoupons(ctx)
	return slices.DeleteFunc(loaded, func(c coupon.Coupon) bool {
		return a.clock.Now().Sub(c.EndsAt) > time.Minute
	}), err
}

// restoreInterval is how soon an instance notices that Redis has lost data. A check is one
// script a shard of each coupon that is on sale or paused.
const restoreInterval = time.Second

// loadWait is how long one load of a coupon waits for another, and loadLease how long it
// waits at most for an instance that died while it loaded.
const (
	loadWait  = 5 * time.Second
	loadLease = 3 * time.Second
)

// loadExclusively runs work while no other instance loads the coupon.
func (a *App) loadExclusively(ctx context.Context, id int64, work func(context.Context) error) error {
	err := a.leases.Do(ctx, "coupon:"+strconv.FormatInt(id, 10), func(ctx context.Context, _ *lock.Lease) error {
		return work(ctx)
	}, lock.WithWait(loadWait), lock.WithLease(min(loadLease, a.cfg.Lock.TTL)))
	switch {
	case errors.Is(err, lock.ErrNotAcquired):
		return fmt.Errorf("%w: it is being loaded", coupon.ErrConflict)
	case errors.Is(err, lock.ErrUnavailable):
		return fmt.Errorf("%w: %w", order.ErrUnavailable, err)
	}
	return err
}
