// Package core puts the order path together over stores that are open:
//
//	database ─┬─▶ coupons, cache ─┐
//	          │                   ├─▶ dependencies of the order service
//	Redis ────┴─▶ stock ──────────┤
//	                              └─▶ reconciler ─▶ auditor
//
// It is the one place that says which part implements which interface of the domain. The
// application, the audit, the lab and the tests' shop use it, and differ in what they hand
// in. It starts nothing and closes nothing.
package core

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/audit"
	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
	"example.com/seckill/internal/stock"
	"example.com/seckill/internal/store"
)

// Options are what the order path is made of.
type Options struct {
	DB        *store.Store
	Redis     redis.UniversalClient
	Scripter  stock.Scripter   // runs what every order needs; nil is Redis
	Prefix    string           // of the keys in Redis; "" is stock.DefaultPrefix
	Locker    order.Locker     // of users and jobs
	Exclusive coupon.Exclusive // lets one load of a coupon run at a time
	Now       func() time.Time // nil is time.Now
	Log       *slog.Logger     // nil is slog.Default

	BeforePublish func(ctx context.Context, id int64) error // see coupon.Deps

	OnHeartbeat func(err error) // is told of each heartbeat, which writes into both stores; may be nil

	Shards         int   // of a new publication; 0 follows its units
	UnitsPerShard  int64 // see stock.Options
	RefusalTTL     time.Duration
	Cooldown       time.Duration // after an order was cancelled or has expired
	CacheRefresh   time.Duration
	ReconcileAfter time.Duration

	// Loading decorates the shards that a coupon is loaded into, and Reconciler what the
	// reconciler is made of. nil decorates nothing.
	Loading    func(coupon.Shards) coupon.Shards
	Reconciler func(order.ReconcilerDeps) order.ReconcilerDeps
}

// Core is the order path without the order service, which OrderDeps has the parts of.
type Core struct {
	Stock      *stock.Stock
	Cache      *coupon.Cache
	Coupons    *coupon.Service
	Reconciler *order.Reconciler
	Auditor    *audit.Auditor

	ReconcilerDeps order.ReconcilerDeps // what Reconciler was made of

	o Options
}

// New puts the order path together.
func New(o Options) *Core {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	c := &Core{
		o: o,
		Stock: stock.New(o.Redis, stock.Options{
			RefusalTTL: o.RefusalTTL, Cooldown: o.Cooldown, Scripter: o.Scripter, Prefix: o.Prefix, Log: o.Log,
			UnitsPerShard: o.UnitsPerShard,
		}),
		Cache: coupon.NewCache(o.DB.Coupons(), o.CacheRefresh, o.Log),
	}
	var shards coupon.Shards = c.Stock
	if o.Loading != nil {
		shards = o.Loading(shards)
	}
	c.Coupons = coupon.NewService(coupon.Deps{
		Repository: o.DB.Coupons(), Loader: o.DB.Coupons(), Shards: shards, Announcer: c.Stock,
		Exclusive: o.Exclusive, Cache: c.Cache, ShardCount: o.Shards, Now: o.Now, Log: o.Log,
		OnHeartbeat: o.OnHeartbeat, BeforePublish: o.BeforePublish,
	})
	c.ReconcilerDeps = order.ReconcilerDeps{
		Shards: c.Stock, DB: o.DB, Locker: o.Locker, Sales: c.Cache, Now: o.Now, Log: o.Log,
	}
	if o.Reconciler != nil {
		c.ReconcilerDeps = o.Reconciler(c.ReconcilerDeps)
	}
	c.Reconciler = order.NewReconciler(c.ReconcilerDeps)
	c.Auditor = audit.New(o.DB, c.Stock, c.Reconciler, c.Coupons, o.ReconcileAfter)
	return c
}

// OrderDeps returns d with the core's parts where d has none.
func (c *Core) OrderDeps(d order.Deps) order.Deps {
	d.Sales = cmp.Or[order.Sales](d.Sales, c.Cache)
	d.Shards = cmp.Or[order.Shards](d.Shards, c.Stock)
	d.DB = cmp.Or[order.Database](d.DB, c.o.DB)
	d.Locker = cmp.Or(d.Locker, c.o.Locker)
	if d.Committer == nil {
		d.Committer = c.o.DB.Committer(store.CommitOptions{})
	}
	if d.Now == nil {
		d.Now = c.o.Now
	}
	d.Log = cmp.Or(d.Log, c.o.Log)
	return d
}
