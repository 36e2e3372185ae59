package audit_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/audit"
	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
	"example.com/seckill/internal/platform/embedded"
	"example.com/seckill/internal/stock"
	"example.com/seckill/internal/store"
)

// onSale opens a sale of ten units on the embedded stores.
func onSale(ctx context.Context) (auditor *audit.Auditor, client *redis.Client, c coupon.Coupon, closeAll func()) {
	e := must(embedded.Start(ctx))
	db := must(store.Open(ctx, store.Options{SQLite: e.SQLiteDSN(), MaxOpen: 8, MaxIdle: 8, TxTimeout: 10 * time.Second}))
	must(db.Migrate(ctx))
	client = redis.NewClient(&redis.Options{Addr: e.RedisAddr()})
	shards := stock.New(client, stock.Options{RefusalTTL: time.Second})
	log := slog.New(slog.DiscardHandler)
	cache := coupon.NewCache(db.Coupons(), time.Second, log)
	coupons := coupon.NewService(coupon.Deps{
		Repository: db.Coupons(), Loader: db.Coupons(), Shards: shards, Announcer: shards, Cache: cache, ShardCount: 4, Log: log,
		Exclusive: func(ctx context.Context, _ int64, work func(context.Context) error) error { return work(ctx) },
	})
	c = must(coupons.Create(ctx, coupon.Coupon{
		Title: "Half a pizza", Total: 10, LimitPerUser: 1, PriceCents: 490,
		BeginsAt: time.Now().Add(-time.Minute), EndsAt: time.Now().Add(time.Hour),
	}))
	c = must(coupons.Publish(ctx, c.ID))
	reconciler := order.NewReconciler(order.ReconcilerDeps{
		Shards: shards, DB: db, Sales: cache, Log: log,
	})
	auditor = audit.New(db, shards, reconciler, coupons, time.Minute)
	return auditor, client, c, func() { _ = errors.Join(client.Close(), db.Close(), e.Close()) }
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// An audit reads both stores and reports every invariant with its numbers.
func ExampleAuditor_Audit() {
	ctx := context.Background()
	auditor, _, c, closeAll := onSale(ctx)
	defer closeAll()

	report := must(auditor.Audit(ctx, c.ID))
	_ = report.WriteText(os.Stdout)
	// Output:
	// coupon 1  T 10 on sale  D 10 in the database  A 0 live orders  R 10 in 4 shards  h 0 holds  G 0 returns
	//   I1   ok  D + A = T and D ≥ 0                                           D 10 + A 0, T 10
	//   I2   ok  A ≤ T                                                         A 0, T 10
	//   I3   ok  no user above the limit, and Redis counts each user's orders  0 orders above a limit of 1, 0 users miscounted, 0 have orders
	//   I4   ok  R + h + G + A = T                                             R 10 + h 0 + G 0 + A 0 = 10, T 10
	//   I5   ok  every shard ≥ 0                                               0 of 4 shards below 0
	//   I6   ok  no unit out of reach: D − R = h + G                           D 10 − R 10, h 0 + G 0
	//   I7   ok  every request that Redis knows as ordered has its row         0 of 0 without a row
	//   I8   ok  one order a request, the same in both stores                  0 share an id or a request, 0 differ
	//   I9   ok  states, slots and returns agree; fences grow                  0 in a bad state, 0 above their fence
	//   I11  ok  a queued request is acknowledged only after its commit        0 queued, 0 without an entry
	//   audit: clean
}

// A repair loads the shards again if they contradict the database, here because Redis has
// lost its data.
func ExampleAuditor_Repair() {
	ctx := context.Background()
	auditor, client, c, closeAll := onSale(ctx)
	defer closeAll()
	if err := client.FlushAll(ctx).Err(); err != nil {
		panic(err)
	}

	broken := must(auditor.Audit(ctx, c.ID))
	fmt.Println("clean:", broken.Clean, "loaded:", broken.Loaded)
	repaired := must(auditor.Repair(ctx, c.ID))
	fmt.Println("clean:", repaired.Clean, "units in Redis:", repaired.Redis)
	// Output:
	// clean: false loaded: false
	// clean: true units in Redis: 10
}
