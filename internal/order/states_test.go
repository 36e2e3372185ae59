package order_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
	"example.com/seckill/internal/testing/apptest"
	"example.com/seckill/internal/testing/testservers"
)

const buyers = 3

// machine does the same in the shop and in the ledger.
type machine struct {
	s *shop
	c coupon.Coupon
	l *ledger
}

func (x *machine) user(t *rapid.T) int64 { return rapid.Int64Range(1, buyers).Draw(t, "user") }

// request is of few keys, so that they meet. A key is of one sale.
func (x *machine) request(t *rapid.T) order.Request {
	k := rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "key")
	if k != "" {
		k = fmt.Sprintf("%s-%d", k, x.c.ID)
	}
	return wish(x.c, x.user(t), k)
}

// id is an order that there is, or one that there is not.
func (x *machine) id(t *rapid.T) int64 {
	return rapid.SampledFrom(append(slices.Sorted(maps.Keys(x.l.orders)), 1<<40)).Draw(t, "order")
}

func (x *machine) place(t *rapid.T) {
	r := x.request(t)
	o, err := x.s.Place(t.Context(), r)
	x.l.place(t, r, o, err)
}

func (x *machine) pay(t *rapid.T) {
	id, user := x.id(t), x.user(t)
	o, err := x.s.Pay(t.Context(), id, user)
	x.l.move(t, id, user, order.Paid, o, err)
}

func (x *machine) cancel(t *rapid.T) {
	id, user := x.id(t), x.user(t)
	o, err := x.s.Cancel(t.Context(), id, user)
	x.l.move(t, id, user, order.Cancelled, o, err)
}

func (x *machine) expire(t *rapid.T) {
	n, err := x.s.Expire(t.Context())
	require.NoError(t, err)
	require.Equal(t, x.l.expire(), n)
}

func (x *machine) later(*rapid.T) {
	x.l.now += paymentTimeout / 2
	x.s.later(x.l.now + time.Minute) // no order is on the edge
}

func (x *machine) reload(t *rapid.T) {
	_, err := x.s.coupons.Reload(t.Context(), x.c.ID)
	require.NoError(t, err)
}

// race does several things at one moment. What each was told must be true of what is
// found after, and nothing may have become what it may not.
func (x *machine) race(t *rapid.T) {
	var steps []func() (order.Order, error)
	var requests []order.Request // empty where the step is no request
	var status []order.Status
	add := func(r order.Request, to order.Status, do func() (order.Order, error)) {
		steps, requests, status = append(steps, do), append(requests, r), append(status, to)
	}
	for range rapid.IntRange(2, 6).Draw(t, "at once") {
		switch rapid.IntRange(0, 4).Draw(t, "what") {
		case 0:
			id, user := x.id(t), x.user(t)
			add(order.Request{}, order.Paid, func() (order.Order, error) { return x.s.Pay(t.Context(), id, user) })
		case 1:
			id, user := x.id(t), x.user(t)
			add(order.Request{}, order.Cancelled, func() (order.Order, error) { return x.s.Cancel(t.Context(), id, user) })
		case 2:
			add(order.Request{}, "", func() (order.Order, error) { return order.Order{}, x.background(t.Context()) })
		default:
			r := x.request(t)
			add(r, "", func() (order.Order, error) { return x.s.Place(t.Context(), r) })
		}
	}
	told := apptest.Together(len(steps), func(i int) (order.Order, error) { return steps[i]() })
	found := x.found(t)
	for i, a := range told {
		switch {
		case a.Err != nil:
			refused := errors.Is(a.Err, order.ErrLimitReached) || errors.Is(a.Err, order.ErrBusy) || errors.Is(a.Err, coupon.ErrSoldOut) ||
				errors.Is(a.Err, order.ErrConflict) || errors.Is(a.Err, order.ErrNotFound)
			require.True(t, refused, "%v", a.Err)
		case requests[i].UserID != 0:
			require.Contains(t, found, a.Order.ID, "it was told")
			x.told(t, requests[i], a.Order)
		case status[i] != "":
			require.Equal(t, status[i], found[a.Order.ID].Status, "it was told")
		}
	}
	for id, o := range found {
		e := x.l.orders[id]
		require.NotNil(t, e, "nobody was told of order %d", id)
		require.True(t, x.l.mayBecome(e, o.Status), "from %s to %s", e.status, o.Status)
		e.status = o.Status
	}
}

// told notes the order that a request was answered with in a race.
func (x *machine) told(t *rapid.T, r order.Request, o order.Order) {
	require.Equal(t, r.UserID, o.UserID)
	if id, known := x.l.keys[r]; known {
		require.Equal(t, id, o.ID, "one order a request")
		return
	}
	require.NotContains(t, x.l.orders, o.ID, "two requests have it")
	x.l.placed(r, o.ID)
}

func (x *machine) background(ctx context.Context) error {
	_, expired := x.s.Expire(ctx)
	_, relayed := x.s.Relay(ctx)
	_, reconciled := x.s.Reconcile(ctx, x.c, time.Hour) // no request is cut off here
	return errors.Join(expired, relayed, reconciled)
}

// found reads all orders of the sale.
func (x *machine) found(t *rapid.T) map[int64]order.Order {
	all := map[int64]order.Order{}
	for user := int64(1); user <= buyers; user++ {
		list, err := x.s.List(t.Context(), user, 0, 1000)
		require.NoError(t, err)
		for _, o := range list {
			if o.CouponID == x.c.ID {
				all[o.ID] = o
			}
		}
	}
	return all
}

// check compares every order, and every unit when nothing is on its way.
func (x *machine) check(t *rapid.T) {
	found := x.found(t)
	require.Len(t, found, len(x.l.orders))
	live := int64(0)
	for id, e := range x.l.orders {
		require.Equal(t, e.status, found[id].Status, "order %d", id)
		if e.status.Live() {
			live++
		}
	}
	report := x.s.in.RequireSettled(t, x.c, live)
	require.Equal(t, x.l.units-live, report.Redis, "R = T - A")
}

func TestOrder_AnyOperations_FollowTheLedgersStates(t *testing.T) {
	testservers.Checks(t, 4) // each is a whole sale on real stores
	onBoth(t, func(t *testing.T, s *shop) {
		rapid.Check(t, func(r *rapid.T) {
			units, limit := rapid.Int64Range(1, 5).Draw(r, "units"), rapid.IntRange(1, 2).Draw(r, "limit")
			x := &machine{s: s, c: s.in.Sell(r, units, limit)}
			x.l = &ledger{units: units, limit: limit, orders: map[int64]*entry{}, keys: map[order.Request]int64{}}
			defer func() { // no order of this sale is left for the next to expire
				s.later(20 * time.Hour)
				_, err := s.Expire(context.Background())
				s.later(0)
				require.NoError(t, err)
			}()
			r.Repeat(map[string]func(*rapid.T){
				"place": x.place, "place again": x.place, "pay": x.pay, "cancel": x.cancel, "expire": x.expire, "later": x.later,
				"reload": x.reload, "race": x.race, "race again": x.race, "": x.check,
			})
		})
	})
}
