package order_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/lock/redislock"
	"example.com/seckill/internal/order"
	"example.com/seckill/internal/platform/embedded"
	"example.com/seckill/internal/stock"
	"example.com/seckill/internal/store"
	"example.com/seckill/internal/testing/apptest"
)

// onSale opens a sale on the embedded stores. It returns the dependencies of an order
// service and of a reconciler.
func onSale(ctx context.Context, units int64) (c coupon.Coupon, d order.Deps, r order.ReconcilerDeps, closeAll func()) {
	e := must(embedded.Start(ctx))
	db := must(store.Open(ctx, store.Options{SQLite: e.SQLiteDSN(), MaxOpen: 8, MaxIdle: 8, TxTimeout: 10 * time.Second}))
	must(db.Migrate(ctx))
	client := redis.NewClient(&redis.Options{Addr: e.RedisAddr()})
	locker := must(lock.New(redislock.New(client, redislock.Options{}), lock.Options{Lease: 10 * time.Second, Wait: time.Second}))
	shards := stock.New(client, stock.Options{RefusalTTL: time.Second})
	log := slog.New(slog.DiscardHandler)
	cache := coupon.NewCache(db.Coupons(), time.Second, log)
	coupons := coupon.NewService(coupon.Deps{
		Repository: db.Coupons(), Loader: db.Coupons(), Shards: shards, Announcer: shards, Cache: cache, ShardCount: 4, Log: log,
		Exclusive: func(ctx context.Context, _ int64, work func(context.Context) error) error { return work(ctx) },
	})
	c = must(coupons.Create(ctx, coupon.Coupon{
		Title: "Half a pizza", Total: units, LimitPerUser: 1, PriceCents: 490,
		BeginsAt: time.Now().Add(-time.Minute), EndsAt: time.Now().Add(time.Hour),
	}))
	c = must(coupons.Publish(ctx, c.ID))

	d = order.Deps{
		Sales: cache, Shards: shards, DB: db, Locker: locker, Committer: db.Committer(store.CommitOptions{}),
		IDs: &apptest.IDs{}, PaymentTimeout: 15 * time.Minute, Cleanup: 5 * time.Second, Log: log,
	}
	r = order.ReconcilerDeps{
		Shards: shards, DB: db, Locker: locker, Sales: cache, Log: log,
	}
	return c, d, r, func() {
		_ = errors.Join(locker.Close(ctx), client.Close(), db.Close(), e.Close())
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// A repeated request with the same key returns the same order, even when the coupon is
// sold out by then.
func ExampleService_Place() {
	ctx := context.Background()
	c, deps, _, closeAll := onSale(ctx, 1)
	defer closeAll()
	orders := order.NewService(deps)

	request := order.Request{CouponID: c.ID, UserID: 7, Key: "from the client"}
	o, err := orders.Place(ctx, request)
	fmt.Println("order", o.ID, o.Status, err)

	_, err = orders.Place(ctx, order.Request{CouponID: c.ID, UserID: 8})
	fmt.Println("another user:", err)

	again, err := orders.Place(ctx, request)
	fmt.Println("order", again.ID, again.Status, err)
	// Output:
	// order 1 pending <nil>
	// another user: coupon: sold out
	// order 1 pending <nil>
}

// Cancelling an order puts its unit back, and another user can have it.
func ExampleService_Cancel() {
	ctx := context.Background()
	c, deps, _, closeAll := onSale(ctx, 1)
	defer closeAll()
	orders := order.NewService(deps)

	o := must(orders.Place(ctx, order.Request{CouponID: c.ID, UserID: 7}))
	o = must(orders.Cancel(ctx, o.ID, 7))
	fmt.Println("order", o.ID, o.Status)

	_, err := orders.Pay(ctx, o.ID, 7)
	fmt.Println("pay:", err)

	o, err = orders.Place(ctx, order.Request{CouponID: c.ID, UserID: 8})
	fmt.Println("order", o.ID, o.Status, err)
	// Output:
	// order 1 cancelled
	// pay: order: its state forbids that: it is cancelled
	// order 2 pending <nil>
}

// An instance may die before it makes the order of a hold. The reconciler of any other instance
// then ends the hold. The unit goes back, and the request can never become an order.
func ExampleReconciler() {
	ctx := context.Background()
	c, deps, reconcilerDeps, closeAll := onSale(ctx, 10)
	defer closeAll()

	got := deps.Shards.Reserve(ctx, []order.ReserveRequest{{
		CouponID: c.ID, UserID: 7, RequestID: "r1", OrderID: 1, Limit: 1, Epoch: c.Epoch, Shards: c.Shards,
	}})[0]
	hold := must(got.Hold, got.Err)
	// Here the instance dies.

	reconciler := order.NewReconciler(reconcilerDeps)
	n, err := reconciler.Reconcile(ctx, c, 0) // in production holds are reconciled from order.reconcile_after on
	fmt.Println("ended:", n, err)

	void, err := deps.DB.ByRequest(ctx, hold.RequestID, hold.UserID)
	fmt.Println("its request:", void.Status, err)
	// Output:
	// ended: 1 <nil>
	// its request: void <nil>
}
