package store_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
	"example.com/seckill/internal/platform/embedded"
	"example.com/seckill/internal/store"
)

// The orders of many users are committed in one transaction, and each has its own outcome.
func ExampleStore_Committer() {
	ctx := context.Background()
	e := must(embedded.Start(ctx))
	db := must(store.Open(ctx, store.Options{SQLite: e.SQLiteDSN(), MaxOpen: 8, MaxIdle: 8, TxTimeout: 10 * time.Second}))
	must(db.Migrate(ctx))
	defer func() { _ = errors.Join(db.Close(), e.Close()) }()
	c := must(db.Coupons().Create(ctx, coupon.Coupon{
		Title: "Half a pizza", Total: 30, Left: 30, LimitPerUser: 1, PriceCents: 490, State: coupon.OnSale, Epoch: 1, Shards: 4,
		BeginsAt: time.Now().Add(-time.Minute), EndsAt: time.Now().Add(time.Hour),
	}))

	all := make([]*order.Attempt, 40)
	for i := range all {
		all[i] = &order.Attempt{Context: ctx, Sale: c, Order: order.Order{
			ID: int64(100 + i), CouponID: c.ID, UserID: int64(1 + i), Status: order.Pending, PriceCents: c.PriceCents,
			RequestID: fmt.Sprint("request-", i), Fence: 1, CreatedAt: time.Now(), ExpiresAt: time.Now().Add(15 * time.Minute),
		}}
	}
	db.Committer(store.CommitOptions{}).Place(ctx, all)

	placed, soldOut := 0, 0
	for _, a := range all {
		switch {
		case a.Err == nil:
			placed++
		case errors.Is(a.Err, coupon.ErrSoldOut):
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
