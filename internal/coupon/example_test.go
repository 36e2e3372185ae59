package coupon_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/platform/embedded"
	"example.com/seckill/internal/stock"
	"example.com/seckill/internal/store"
)

// drafted returns a service on the embedded stores, a draft of ten units, and its shards.
func drafted(ctx context.Context) (coupons *coupon.Service, c coupon.Coupon, shards *stock.Stock, closeAll func()) {
	e := must(embedded.Start(ctx))
	db := must(store.Open(ctx, store.Options{SQLite: e.SQLiteDSN(), MaxOpen: 8, MaxIdle: 8, TxTimeout: 10 * time.Second}))
	must(db.Migrate(ctx))
	client := redis.NewClient(&redis.Options{Addr: e.RedisAddr()})
	shards = stock.New(client, stock.Options{RefusalTTL: time.Second})
	coupons = coupon.NewService(coupon.Deps{
		Repository: db.Coupons(), Loader: db.Coupons(), Shards: shards, Announcer: shards,
		Cache: coupon.NewCache(db.Coupons(), time.Second, slog.Default()), ShardCount: 4, Exclusive: oneAtATime(),
	})

	c = must(coupons.Create(ctx, coupon.Coupon{
		Title: "Half a pizza", Total: 10, LimitPerUser: 1, PriceCents: 490,
		BeginsAt: time.Now().Add(-time.Minute), EndsAt: time.Now().Add(time.Hour),
	}))
	return coupons, c, shards, func() { _ = errors.Join(client.Close(), db.Close(), e.Close()) }
}

// A publication loads the stock into the shards under a new epoch and opens the sale.
func ExampleService_Publish() {
	ctx := context.Background()
	coupons, c, shards, closeAll := drafted(ctx)
	defer closeAll()
	fmt.Println(c.State, c.CheckPurchasable(time.Now()))

	c = must(coupons.Publish(ctx, c.ID))
	fmt.Println(c.State, c.CheckPurchasable(time.Now()))
	fmt.Println("units in the shards:", must(shards.Remaining(ctx, c.ID, c.Shards)))
	// Output:
	// draft coupon: not found
	// on_sale <nil>
	// units in the shards: [3 3 2 2]
}

// A paused coupon keeps its stock and admits no order. Its stock may be changed, and the
// next publication loads what is left under another epoch.
func ExampleService_Pause() {
	ctx := context.Background()
	coupons, c, shards, closeAll := drafted(ctx)
	defer closeAll()
	c = must(coupons.Publish(ctx, c.ID))
	before := c.Epoch

	c = must(coupons.Pause(ctx, c.ID))
	fmt.Println(c.State, c.CheckPurchasable(time.Now()))

	total := int64(20)
	c = must(coupons.Patch(ctx, c.ID, coupon.Change{Total: &total}))
	c = must(coupons.Publish(ctx, c.ID))
	fmt.Println(c.State, "another epoch:", c.Epoch > before)
	fmt.Println("units in the shards:", must(shards.Remaining(ctx, c.ID, c.Shards)))
	// Output:
	// paused coupon: the sale is paused
	// on_sale another epoch: true
	// units in the shards: [5 5 5 5]
}

// An ended coupon stays ended.
func ExampleService_Patch_end() {
	ctx := context.Background()
	coupons, c, _, closeAll := drafted(ctx)
	defer closeAll()
	c = must(coupons.Publish(ctx, c.ID))

	c = must(coupons.Patch(ctx, c.ID, coupon.Change{End: true}))
	fmt.Println(c.State, c.CheckPurchasable(time.Now()))

	_, err := coupons.Publish(ctx, c.ID)
	fmt.Println(err)
	// Output:
	// ended coupon: the sale has ended
	// coupon: its state forbids that: it has ended
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
