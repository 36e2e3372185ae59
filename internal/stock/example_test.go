package stock_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
	"example.com/seckill/internal/platform/embedded"
	"example.com/seckill/internal/stock"
)

// loaded returns the stock of a coupon 1 with the given units in four shards, on the embedded
// Redis.
func loaded(ctx context.Context, units int64) (s *stock.Stock, closeAll func()) {
	e, err := embedded.Start(ctx)
	if err != nil {
		panic(err)
	}
	client := redis.NewClient(&redis.Options{Addr: e.RedisAddr()})
	s = stock.New(client, stock.Options{RefusalTTL: time.Second})
	if err := s.Load(ctx, coupon.Load{CouponID: 1, Epoch: 1, Shards: 4, Units: units}); err != nil {
		panic(err)
	}
	return s, func() { _ = errors.Join(client.Close(), e.Close()) }
}

func request(user, orderID int64, id string) order.ReserveRequest {
	return order.ReserveRequest{CouponID: 1, UserID: user, RequestID: id, OrderID: orderID, Limit: 1, Epoch: 1, Shards: 4}
}

// byItself returns the request as the only one of its call, which may borrow.
func byItself(r order.ReserveRequest) []order.ReserveRequest {
	r.Alone = true
	return []order.ReserveRequest{r}
}

// A repeated request finds its hold: no second unit is taken, and the order id is that of
// the first attempt.
func ExampleStock_Reserve() {
	ctx := context.Background()
	s, closeAll := loaded(ctx, 10)
	defer closeAll()

	got := s.Reserve(ctx, []order.ReserveRequest{request(7, 100, "r1"), request(7, 101, "r1"), request(7, 102, "r2")})
	fmt.Println("order", got[0].Hold.OrderID, got[0].Err)
	fmt.Println("order", got[1].Hold.OrderID, got[1].Err)
	fmt.Println("another request of the user:", got[2].Err)

	left, err := s.Remaining(ctx, 1, 4)
	fmt.Println("units left:", left[0]+left[1]+left[2]+left[3], err)
	// Output:
	// order 100 <nil>
	// order 100 <nil>
	// another request of the user: order: another request of the user is open
	// units left: 9 <nil>
}

// A unit of an empty home shard comes from a sibling: the last units are sold whatever
// shard they are in.
func ExampleStock_Reserve_sibling() {
	ctx := context.Background()
	s, closeAll := loaded(ctx, 4)
	defer closeAll()

	home := coupon.Home(7, 4)
	sold := 0
	for user := int64(7); sold < 4; user++ { // buyers who all have the same home
		if coupon.Home(user, 4) != home {
			continue
		}
		if got := s.Reserve(ctx, byItself(request(user, user, fmt.Sprint("r", user))))[0]; got.Err != nil {
			panic(got.Err)
		}
		sold++
	}
	late := s.Reserve(ctx, byItself(request(1_000_000, 1, "late")))[0]
	fmt.Println("sold", sold, "and then:", late.Err)
	// Output: sold 4 and then: coupon: sold out
}

// A hold ends as history, when its order is committed, or goes back.
func ExampleStock_Release() {
	ctx := context.Background()
	s, closeAll := loaded(ctx, 1)
	defer closeAll()

	seven := s.Reserve(ctx, byItself(request(7, 100, "r1")))[0]
	fmt.Println("user 7:", seven.Err)
	eight := s.Reserve(ctx, byItself(request(8, 101, "r2")))[0]
	fmt.Println("user 8:", eight.Err)

	fmt.Println("release:", s.Release(ctx, []order.Hold{seven.Hold}))
	eight = s.Reserve(ctx, byItself(request(8, 102, "r3")))[0]
	fmt.Println("user 8:", eight.Err)
	fmt.Println("confirm:", s.Confirm(ctx, []order.Hold{eight.Hold}))
	// Output:
	// user 7: <nil>
	// user 8: coupon: sold out
	// release: [<nil>]
	// user 8: <nil>
	// confirm: [<nil>]
}

// A cancelled order's unit goes back once, however often it is handed in.
func ExampleStock_Restock() {
	ctx := context.Background()
	s, closeAll := loaded(ctx, 10)
	defer closeAll()
	got := s.Reserve(ctx, byItself(request(7, 100, "r1")))[0]
	if got.Err != nil {
		panic(got.Err)
	}
	hold := got.Hold
	if err := s.Confirm(ctx, []order.Hold{hold})[0]; err != nil {
		panic(err)
	}

	back := order.Restock{
		OrderID: hold.OrderID, CouponID: 1, UserID: 7, Shard: hold.Shard, Shards: 4, Epoch: 1,
	}
	fmt.Println(s.Restock(ctx, back), s.Restock(ctx, back))
	left, err := s.Remaining(ctx, 1, 4)
	fmt.Println("units left:", left[0]+left[1]+left[2]+left[3], err)
	// Output:
	// <nil> <nil>
	// units left: 10 <nil>
}

// A queued request is a hold and an entry of its shard's queue, made in one step. A worker
// makes the order, and then acknowledges the entry.
func ExampleQueue_Next() {
	ctx := context.Background()
	s, closeAll := loaded(ctx, 10)
	defer closeAll()

	r := request(7, 100, "r1")
	r.Enqueue = &order.Order{ID: 100, CouponID: 1, UserID: 7, RequestID: "r1", CreatedAt: time.Now()}
	r.QueueCapacity, r.QueueMaxAge = 1000, time.Minute
	if got := s.Reserve(ctx, byItself(r))[0]; got.Err != nil {
		panic(got.Err)
	}

	queue := s.Queue("worker-1", time.Minute)
	c := coupon.Coupon{ID: 1, Epoch: 1, Shards: 4}
	entries, err := queue.Next(ctx, c, 10)
	for _, e := range entries {
		fmt.Println("entry of order", e.Order.ID, "delivered", e.Deliveries, "time")
	}
	// Here the orders are committed.
	fmt.Println("acknowledged:", queue.AckCommitted(ctx, entries))
	fmt.Println(len(entries), err)
	// Output:
	// entry of order 100 delivered 1 time
	// acknowledged: [<nil>]
	// 1 <nil>
}
