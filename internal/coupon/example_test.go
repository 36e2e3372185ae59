package coupon_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/coupon"
	"seckill/internal/embedded"
	"seckill/internal/stock"
	"seckill/internal/store"
)

// A publication loads the stock into the shards under a new epoch and opens the sale. A
// paused coupon keeps its stock and admits no order.
func ExampleService_Publish() {
	ctx := context.Background()
	e := must(embedded.Start(ctx))
	db := must(store.Open(ctx, store.Options{SQLite: e.SQLiteDSN(), MaxOpen: 8, MaxIdle: 8, TxTimeout: 10 * time.Second}))
	must(db.Migrate(ctx))
	client := redis.NewClient(&redis.Options{Addr: e.RedisAddr()})
	defer func() { _ = errors.Join(client.Close(), db.Close(), e.Close()) }()

	shards := stock.New(client, time.Second)
	coupons := coupon.NewService(coupon.Deps{
		Repository: db.Coupons(), Loader: db.Coupons(), Shards: shards, Announcer: shards,
		Cache: coupon.NewCache(db.Coupons(), time.Second, slog.Default()), ShardCount: 4, Exclusive: oneAtATime(),
	})

	c := must(coupons.Create(ctx, coupon.Coupon{
		Title: "Half a pizza", Total: 10, LimitPerUser: 1, PriceCents: 490,
		BeginsAt: time.Now().Add(-time.Minute), EndsAt: time.Now().Add(time.Hour),
	}))
	fmt.Println(c.State, c.Admits(time.Now()))

	c = must(coupons.Publish(ctx, c.ID))
	fmt.Println(c.State, c.Admits(time.Now()))
	fmt.Println("units in the shards:", must(shards.Left(ctx, c.ID, c.Shards)))

	c = must(coupons.Pause(ctx, c.ID))
	fmt.Println(c.State, c.Admits(time.Now()))
	// Output:
	// draft coupon: not found
	// on_sale <nil>
	// units in the shards: [3 3 2 2]
	// paused coupon: its stock is not loaded
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
