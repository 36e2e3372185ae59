package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/audit"
	"seckill/internal/clock"
	"seckill/internal/config"
	"seckill/internal/coupon"
	"seckill/internal/embedded"
	"seckill/internal/lock"
	"seckill/internal/lock/redislock"
	"seckill/internal/metrics"
	"seckill/internal/order"
	"seckill/internal/preflight"
	"seckill/internal/redisconn"
	"seckill/internal/stock"
	"seckill/internal/store"
)

// app is the program without its listeners, built from the bottom up:
//
//	stores ─▶ lock ─▶ stock, coupons ─▶ ids ─▶ admission, orders ─▶ background work
//
// and stopped from the top down.
type app struct {
	cfg config.Config
	log *slog.Logger

	embedded   *embedded.Stores // nil with real stores
	redis      redis.UniversalClient
	scripts    redisconn.Pipelined // of redis, for the order path
	store      *store.Store
	tx         order.Transactor // of the store, by order.commit
	locker     *lock.Locker     // of users and jobs, by lock.backend
	leases     *lock.Locker     // of worker numbers and loadings, always in Redis
	stock      *stock.Stock
	cache      *coupon.Cache
	coupons    *coupon.Service
	reconciler *order.Reconciler
	auditor    *audit.Auditor
	orders     *order.Service
	fleet      *stock.Instances
	metrics    *metrics.Metrics
	clock      *clock.Clock
	found      preflight.Findings // at the start

	stops []func(ctx context.Context) error // in the order of building
}

// openApp builds everything but the order service: what audit and repair need. look is
// called as soon as the stores have answered.
func openApp(ctx context.Context, cfg config.Config, log *slog.Logger, look func(context.Context, *app) error) (_ *app, err error) {
	a := &app{cfg: cfg, log: log, metrics: metrics.New(), clock: clock.New(nil)}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.close(context.WithoutCancel(ctx)))
		}
	}()
	if err := a.openStores(ctx); err != nil {
		return nil, err
	}
	if err := look(ctx, a); err != nil {
		return nil, err
	}
	if err := a.openLocks(ctx); err != nil {
		return nil, err
	}
	a.stock = stock.New(a.redis, cfg.Stock.SoldOutTTL).WithPrefix(cfg.Redis.Prefix).WithScripter(a.scripts)
	a.fleet = stock.NewInstances(a.stock, strings.ToLower(rand.Text()[:4]))
	a.cache = coupon.NewCache(a.store.Coupons(), cfg.Coupon.CacheRefresh, log)
	a.coupons = coupon.NewService(coupon.Deps{
		Repository: a.store.Coupons(), Loader: a.store.Coupons(), Shards: a.stock, Announcer: a.stock,
		Exclusive: a.exclusive, Cache: a.cache, ShardCount: cfg.Stock.Shards, Now: a.clock.Now, Log: log,
	})
	a.reconciler = order.NewReconciler(faultyReconciler(order.ReconcilerDeps{
		Holds: a.stock, Stock: a.stock, Restocker: a.stock, Locker: a.locker, Tx: a.store,
		Orders: a.store, Outbox: a.store, Sales: a.cache, Now: a.clock.Now, Log: log,
	}))
	a.auditor = audit.New(a.store, a.stock, a.reconciler, a.coupons, cfg.Order.ReconcileAfter)
	return a, nil
}

func (a *app) openStores(ctx context.Context) (err error) {
	if a.cfg.Embedded() {
		if a.embedded, err = embedded.Start(ctx); err != nil {
			return err
		}
		a.onStop(func(context.Context) error { return a.embedded.Close() })
	}
	if a.redis, err = openRedis(ctx, a.cfg.Redis, a.embedded, a.log, a.metrics.SetBackendAway); err != nil {
		return err
	}
	a.onStop(func(context.Context) error { return a.redis.Close() })
	if a.scripts, err = redisconn.Pipeline(a.redis); err != nil {
		return err
	}
	if a.store, err = openStore(ctx, a.cfg, a.embedded, a.log, a.metrics.SetBackendAway); err != nil {
		return err
	}
	a.onStop(func(context.Context) error { return a.store.Close() })
	a.tx = transactor(a.cfg.Order, a.store, a.metrics)
	if a.embedded != nil {
		_, err := a.store.Migrate(ctx)
		return err
	}
	return a.store.CheckSchema(ctx)
}

// openLocks makes two lockers: what must be unique in the fleet, such as a worker
// number, stays so whatever lock the order path is run with.
func (a *app) openLocks(ctx context.Context) (err error) {
	backend, closeBackend, err := lockBackend(a.cfg, a.redis, a.scripts, a.store, a.log)
	if err != nil {
		return err
	}
	a.onStop(func(context.Context) error { return closeBackend() })
	o := lock.Options{
		Lease: a.cfg.Lock.Lease, Wait: a.cfg.Lock.Wait, Timeout: a.cfg.Redis.Timeout,
		Hooks: a.metrics.LockHooks(), Logger: a.log,
	}
	if a.locker, err = lock.New(faultyBackend(backend), o); err != nil {
		return usage(err)
	}
	a.onStop(a.locker.Close)
	if err := a.tryLock(ctx); err != nil {
		return err
	}
	o.Hooks = lock.Hooks{}
	if a.leases, err = lock.New(redislock.New(a.redis, redislock.Options{Prefix: a.cfg.Redis.Prefix, Logger: a.log}), o); err != nil {
		return usage(err)
	}
	a.onStop(a.leases.Close)
	return nil
}

// lockAnswers is how long the lock's servers have to answer at start. They are asked
// again meanwhile: the first call on a new connection may take longer than one may later.
const (
	lockAnswers  = 5 * time.Second
	lockAskAgain = 100 * time.Millisecond
)

// tryLock takes a lock that no order uses, so that servers that are away, or may not be
// used, are reported at start and not by the first buyer. Its key is one of a few, because
// some backends keep a row for every key for ever; that another instance holds it proves
// as well that the servers answer.
func (a *app) tryLock(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lockAnswers)
	defer cancel()
	key := "start:" + rand.Text()[:1]
	for {
		err := a.locker.Do(ctx, key, func(context.Context, *lock.Lease) error { return nil }, lock.WithWait(0))
		if err == nil || errors.Is(err, lock.ErrHeld) {
			return nil
		}
		select {
		case <-time.After(lockAskAgain):
		case <-ctx.Done():
			return fmt.Errorf("lock.backend %s does not answer: check lock.addrs: %w", a.cfg.Lock.Backend, err)
		}
	}
}

// openShop builds the order service too, and starts the background work.
func openShop(ctx context.Context, cfg config.Config, log *slog.Logger) (_ *app, err error) {
	a, err := openApp(ctx, cfg, log, checkStart)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.close(context.WithoutCancel(ctx)))
		}
	}()
	if err := a.own(ctx); err != nil {
		return nil, err
	}
	if err := a.checkShards(ctx); err != nil {
		return nil, err
	}
	ids, err := newIDs(ctx, cfg.ID, a.redis, cfg.Redis.Prefix, a.leases, log)
	if err != nil {
		return nil, err
	}
	a.onStop(ids.Close)
	felt, locker := a.metrics.Pulse.Feel(a.metrics.Stock(a.stock), a.metrics.Locker(a.locker), stock.Home)
	queue := shardQueue(cfg.Order, a.stock)
	a.orders = order.NewService(faultyService(order.Deps{
		Admission: admit(cfg, a.metrics), Queue: queue, QueueCapacity: cfg.Order.QueueCapacity, QueueMaxAge: cfg.Order.QueueMaxAge,
		Sales: a.cache, Stock: felt, Unresolved: a.stock, Restocker: a.stock,
		Locker: locker, Tx: a.metrics.Transactor(a.tx), Orders: a.store, IDs: ids,
		PayWithin: cfg.Order.PaymentTimeout, Cleanup: cfg.Order.TxTimeout, Now: a.clock.Now, Log: log,
	}))
	a.metrics.WatchPools(a.store.Pool(), a.redis)
	a.metrics.WatchShards(a.cache.Known, a.stock.Left)
	a.work(ctx)
	if queue != nil {
		a.metrics.WatchQueues(a.cache.Known, a.stock.Queues)
		a.consume(ctx)
	}
	return a, nil
}

// ownWithin is longer than the word of a database counts that is not at work any more.
const ownWithin = 12 * time.Second

// own makes this database the one that Redis is loaded from. It waits for one that was
// stopped just now, and refuses a Redis that another is at work on, or that cannot tell
// that it has lost data.
func (a *app) own(ctx context.Context) error {
	if err := a.stock.CheckServers(ctx); err != nil {
		return refused(err)
	}
	for until := time.Now().Add(ownWithin); ; {
		err := a.coupons.Heartbeat(ctx)
		if err == nil {
			a.onStop(func(ctx context.Context) error { _ = a.stock.Disown(ctx); return nil }) // it runs out by itself
			return nil
		}
		if !errors.Is(err, coupon.ErrForeign) || time.Now().After(until) {
			return refused(err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(watchEvery / 4):
		}
	}
}

// refused is usage's error if it is for a person to mend.
func refused(err error) error {
	if errors.Is(err, coupon.ErrForeign) || errors.Is(err, stock.ErrInfoDenied) {
		return usage(err)
	}
	return err
}

// checkShards refuses a number of shards other than the one that a running sale was
// loaded with: the next publication would move its stock without anybody asking.
// One whose shards are freed has none.
func (a *app) checkShards(ctx context.Context) error {
	loaded, err := a.store.Coupons().Loaded(ctx)
	if err != nil {
		return err
	}
	for _, c := range loaded {
		if c.StateAt(a.clock.Now()) == coupon.OnSale && c.Shards > 0 && c.Shards != a.cfg.Stock.Shards {
			return usage(fmt.Errorf("stock.shards: coupon %d is on sale over another number of shards: "+
				"pause it first, or set the number that it has", c.ID))
		}
	}
	return nil
}

// loadWait is how long one loading of a coupon waits for another, and loadLease how
// long it waits at most for an instance that died while it loaded.
const (
	loadWait  = 5 * time.Second
	loadLease = 3 * time.Second
)

// exclusive lets one instance at a time load a coupon.
func (a *app) exclusive(ctx context.Context, id int64, work func(context.Context) error) error {
	err := a.leases.Do(ctx, "coupon:"+strconv.FormatInt(id, 10), func(ctx context.Context, _ *lock.Lease) error {
		return work(ctx)
	}, lock.WithWait(loadWait), lock.WithLease(min(loadLease, a.cfg.Lock.Lease)))
	switch {
	case errors.Is(err, lock.ErrNotAcquired):
		return fmt.Errorf("%w: it is being loaded", coupon.ErrConflict)
	case errors.Is(err, lock.ErrUnavailable):
		return fmt.Errorf("%w: %w", order.ErrUnavailable, err)
	}
	return err
}

func (a *app) onStop(stop func(ctx context.Context) error) { a.stops = append(a.stops, stop) }

// close stops everything from the top down, and goes on after an error.
func (a *app) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, a.cfg.HTTP.ShutdownTimeout)
	defer cancel()
	var err error
	for _, stop := range slices.Backward(a.stops) {
		err = errors.Join(err, stop(ctx))
	}
	a.stops = nil
	return err
}

// answers says whether both stores do.
func (a *app) answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if err := a.redis.Ping(ctx).Err(); err != nil {
		return errors.New("redis does not answer")
	}
	if err := a.store.Ping(ctx); err != nil {
		return errors.New("the database does not answer")
	}
	return a.sameTime()
}
