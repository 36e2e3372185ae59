package store_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/coupon"
	"seckill/internal/embedded"
	"seckill/internal/lock"
	"seckill/internal/lock/redislock"
	"seckill/internal/order"
	"seckill/internal/shoptest"
	"seckill/internal/stock"
	"seckill/internal/store"
)

// The orders of many requests are committed by few transactions, and each request is
// answered after its commit with its own outcome.
func ExampleStore_GroupCommitter() {
	ctx := context.Background()
	e := must(embedded.Start(ctx))
	db := must(store.Open(ctx, store.Options{SQLite: e.SQLiteDSN(), MaxOpen: 8, MaxIdle: 8, TxTimeout: 10 * time.Second}))
	must(db.Migrate(ctx))
	client := redis.NewClient(&redis.Options{Addr: e.RedisAddr()})
	locker := must(lock.New(redislock.New(client, redislock.Options{}), lock.Options{Lease: 10 * time.Second, Wait: time.Second}))
	defer func() { _ = errors.Join(locker.Close(ctx), client.Close(), db.Close(), e.Close()) }()
	shards, log := stock.New(client, time.Second), slog.New(slog.DiscardHandler)
	cache := coupon.NewCache(db.Coupons(), time.Second, log)
	coupons := coupon.NewService(coupon.Deps{
		Repository: db.Coupons(), Loader: db.Coupons(), Shards: shards, Announcer: shards, Cache: cache, ShardCount: 4, Log: log,
		Exclusive: func(ctx context.Context, _ int64, work func(context.Context) error) error { return work(ctx) },
	})
	c := must(coupons.Create(ctx, coupon.Coupon{
		Title: "Half a pizza", Total: 30, LimitPerUser: 1, PriceCents: 490,
		BeginsAt: time.Now().Add(-time.Minute), EndsAt: time.Now().Add(time.Hour),
	}))
	c = must(coupons.Publish(ctx, c.ID))

	orders := order.NewService(order.Deps{
		Tx:    db.GroupCommitter(store.GroupOptions{Log: log}),
		Sales: cache, Stock: shards, Unresolved: shards, Restocker: shards, Locker: locker, Orders: db,
		IDs: &shoptest.IDs{}, PayWithin: 15 * time.Minute, Cleanup: 5 * time.Second, Log: log,
	})
	var buyers sync.WaitGroup
	outcomes := make([]error, 40)
	for i := range outcomes {
		buyers.Go(func() {
			_, outcomes[i] = orders.Place(ctx, order.Request{CouponID: c.ID, UserID: int64(1 + i)})
		})
	}
	buyers.Wait()

	placed, soldOut := 0, 0
	for _, err := range outcomes {
		switch {
		case err == nil:
			placed++
		case errors.Is(err, coupon.ErrSoldOut):
			soldOut++
		}
	}
	fmt.Println(placed, "orders,", soldOut, "sold out")
	fmt.Println("units left:", must(db.Coupons().Find(ctx, c.ID))[0].Left)
	// Output:
	// 30 orders, 10 sold out
	// units left: 0
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
