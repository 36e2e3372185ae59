// Package app is the application put together, once, for `seckill serve`, its demonstration
// and its audit:
//
//	configuration ─▶ stores ─▶ locks ─▶ core ─▶ ids ─▶ orders ─▶ background ─▶ HTTP, health
//
// It is built from the bottom up, in Start or as far as OpenCore, and stopped from the top
// down. wire.go has the only switches over backends.
package app

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/app/core"
	"example.com/seckill/internal/config"
	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/lock/redislock"
	"example.com/seckill/internal/lottery"
	"example.com/seckill/internal/observe/metrics"
	"example.com/seckill/internal/observe/tracing"
	"example.com/seckill/internal/order"
	"example.com/seckill/internal/platform/clock"
	"example.com/seckill/internal/platform/embedded"
	"example.com/seckill/internal/platform/preflight"
	"example.com/seckill/internal/platform/redisconn"
	"example.com/seckill/internal/stock"
	"example.com/seckill/internal/store"
)

// App is the program without its listeners.
type App struct {
	*core.Core

	cfg config.Config
	log *slog.Logger

	embedded *embedded.Stores // nil with real stores
	redis    redis.UniversalClient
	scripts  redisconn.Pipelined // of redis, for the order path
	store    *store.Store
	locker   *lock.Locker // of users and jobs, by lock.backend
	leases   *lock.Locker // of worker numbers and loadings, always in Redis
	orders   *order.Service
	lottery  *lottery.Service // around orders; nil: nothing is drawn
	design   Design           // instead of orders; nil: the order service makes the orders
	fleet    *stock.Instances
	metrics  *metrics.Metrics
	traces   *tracing.Traces // nil: they are off
	clock    *clock.Clock
	writes   writes
	unpaid   *unpaidOrders
	found    preflight.Findings // at the start

	stops []func(ctx context.Context) error // in the order of building
}

// OpenCore builds everything but the order service: what audit and repair need. It takes the
// servers as they are, because an operator runs an audit when something is wrong.
func OpenCore(ctx context.Context, cfg config.Config, log *slog.Logger) (*App, error) {
	return openCore(ctx, cfg, log, func(context.Context, *App) error { return nil })
}

// openCore calls look as soon as the stores have answered.
func openCore(
	ctx context.Context, cfg config.Config, log *slog.Logger, look func(context.Context, *App) error,
) (_ *App, err error) {
	a := &App{cfg: cfg, log: log, metrics: metrics.New(), clock: clock.New(faults.Now)}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Close(context.WithoutCancel(ctx)))
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
	a.Core = core.New(core.Options{
		DB: a.store, Redis: a.redis, Scripter: a.scripts, Prefix: cfg.Redis.Prefix, Locker: a.locker,
		Exclusive: a.loadExclusively, Now: a.clock.Now, Log: log,
		Loading: faults.Shards, Reconciler: faults.Reconciler,
		Shards: cfg.Stock.Shards, UnitsPerShard: unitsPerShard(cfg.Order), RefusalTTL: cfg.Stock.RefusalTTL, Cooldown: cfg.Order.Cooldown,
		CacheRefresh:  cfg.Coupon.CacheRefresh,
		BeforePublish: a.beforePublish,
		OnHeartbeat:   a.writes.note, ReconcileAfter: cfg.Order.ReconcileAfter,
	})
	a.unpaid = newUnpaidOrders(a.store.Unpaid, log)
	a.fleet = stock.NewInstances(a.Stock, strings.ToLower(rand.Text()[:4]))
	return a, nil
}

func (a *App) openStores(ctx context.Context) (err error) {
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
	if a.embedded != nil {
		_, err := a.store.Migrate(ctx)
		return err
	}
	return a.store.CheckSchema(ctx)
}

// openLocks opens two lockers. The second is always in Redis, so that a worker number is unique among all
// instances with any lock.backend.
func (a *App) openLocks(ctx context.Context) (err error) {
	backend, closeBackend, err := openLockBackend(a.cfg, a.redis, a.scripts, a.store, a.log)
	if err != nil {
		return err
	}
	a.onStop(func(context.Context) error { return closeBackend() })
	o := lock.Options{
		Lease: a.cfg.Lock.TTL, Wait: a.cfg.Lock.WaitTimeout, Timeout: a.cfg.Redis.Timeout,
		Hooks: a.metrics.LockHooks(), Logger: a.log,
	}
	if a.locker, err = lock.New(faulty(faults.Backend, backend), o); err != nil {
		return Usage(err)
	}
	a.onStop(a.locker.Close)
	if err := a.checkLock(ctx); err != nil {
		return err
	}
	o.Hooks = lock.Hooks{}
	if a.leases, err = lock.New(redislock.New(a.redis, redislock.Options{Prefix: a.cfg.Redis.Prefix, Logger: a.log}), o); err != nil {
		return Usage(err)
	}
	a.onStop(a.leases.Close)
	return nil
}

// lockStartTimeout is how long the lock's servers have to answer at start, with a try every
// lockRetryInterval: the first call on a new connection may take longer than later ones.
const (
	lockStartTimeout  = 5 * time.Second
	lockRetryInterval = 100 * time.Millisecond
)

// checkLock takes a lock that no order uses, so that servers that are down, or that refuse
// this program, are reported at start and not to the first buyer. Its key is one of a few,
// because some backends keep a row for every key for ever. ErrHeld, by another instance,
// proves as well that the servers answer.
func (a *App) checkLock(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lockStartTimeout)
	defer cancel()
	key := "start:" + rand.Text()[:1]
	for {
		err := a.locker.Do(ctx, key, func(context.Context, *lock.Lease) error { return nil }, lock.WithWait(0))
		if err == nil || errors.Is(err, lock.ErrHeld) {
			return nil
		}
		if rest(ctx, lockRetryInterval) != nil {
			return lockError(context.WithoutCancel(ctx), a.cfg.Lock, err)
		}
	}
}

// openApp builds the order service too, and starts the background work.
func openApp(ctx context.Context, cfg config.Config, log *slog.Logger, design NewDesign) (_ *App, err error) {
	a, err := openCore(ctx, cfg, log, checkStart)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Close(context.WithoutCancel(ctx)))
		}
	}()
	if err := a.takeOwnership(ctx); err != nil {
		return nil, err
	}
	if err := a.checkLoaded(ctx); err != nil {
		return nil, err
	}
	if a.traces, err = openTraces(ctx, a); err != nil {
		return nil, err
	}
	// First in the order of building: all others stop before it.
	a.stops = slices.Insert(a.stops, 0, func(ctx context.Context) error { a.traces.Close(ctx); return nil })
	ids, err := newIDs(ctx, cfg.ID, a.redis, cfg.Redis.Prefix, a.leases, log)
	if err != nil {
		return nil, err
	}
	a.onStop(ids.Close)
	d := a.orderDeps(ids)
	a.orders = order.NewService(d)
	a.onStop(a.orders.Close)
	a.lottery = newLottery(cfg.Order, a.orders, d, a.store, a.Stock)
	if err := a.openDesign(ctx, design, ids); err != nil {
		return nil, err
	}
	for of := range causes {
		a.metrics.StartUnavailable(of)
	}
	a.metrics.WatchPools(a.store.Pool(), a.redis)
	a.metrics.WatchShards(a.Cache.Cached, a.Stock.RemainingAll)
	a.metrics.WatchSales(a.Cache.Cached, (&pacedSales{count: a.store.Sales}).read)
	a.startBackground(ctx)
	if d.Queue != nil {
		a.metrics.WatchQueues(a.Cache.Cached, a.Stock.QueuesAll)
		a.startWorkers(ctx)
	}
	return a, nil
}

// orderDeps returns what the order service is made of.
func (a *App) orderDeps(ids order.IDs) order.Deps {
	hooks := []order.Hook{a.metrics.Live.Hook(coupon.Home), a.metrics.Hook()}
	if a.traces != nil {
		hooks = append(hooks, a.traces.Hook())
	}
	return faulty(faults.Service, a.OrderDeps(order.Deps{
		Admission: a.traces.Admission(newAdmission(a.cfg, a.metrics)), IDs: ids, Hooks: hooks, BatchSize: a.cfg.Order.BatchSize,
		DB: a.traces.Database(a.metrics.Database(a.store)), Committer: newCommitter(a.cfg, a.store, a.metrics, a.traces),
		Queue: newShardQueue(a.cfg.Order, a.Stock), QueueCapacity: a.cfg.Order.QueueCapacity, QueueMaxAge: a.cfg.Order.QueueMaxAge,
		HeldPolls: heldPolls(a.cfg.HTTP.MaxInFlight), PaymentTimeout: a.cfg.Order.PaymentTimeout, Cleanup: a.cfg.Order.TxTimeout,
	}))
}

func (a *App) onStop(stop func(ctx context.Context) error) { a.stops = append(a.stops, stop) }

// Close stops everything from the top down, and the traces last. It continues after an error, and
// joins them. All stops together have http.shutdown_timeout.
func (a *App) Close(ctx context.Context) error {
	stops := a.stops
	a.stops = nil
	return stopAll(ctx, stops, a.cfg.HTTP.ShutdownTimeout)
}

// stopAll calls the last stop first. No stop may use the share of time that those after it may need: one that
// hangs would otherwise make the locks and stores fail as well.
func stopAll(ctx context.Context, stops []func(context.Context) error, within time.Duration) (err error) {
	end := time.Now().Add(within)
	share := within / time.Duration(2*max(1, len(stops)))
	for after, stop := range slices.Backward(stops) {
		own, cancel := context.WithDeadline(ctx, end.Add(-time.Duration(after)*share))
		err = errors.Join(err, stop(own))
		cancel()
	}
	return err
}

// ready returns an error if a store does not answer within a second, or takes no writes. It also does if a
// newer version of the program loaded a sale, or if the clocks are apart.
func (a *App) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if err := a.redis.Ping(ctx).Err(); err != nil {
		return errors.New("redis does not answer")
	}
	if err := a.store.Ping(ctx); err != nil {
		return errors.New("the database does not answer")
	}
	if err := a.writes.check(a.cfg.Redis.Mode == redisconn.Cluster); err != nil {
		return err
	}
	if err := a.Stock.CheckLayout(); err != nil {
		return err
	}
	return a.sameTime()
}
