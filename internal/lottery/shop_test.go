package lottery_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/lottery"
	"example.com/seckill/internal/order"
	"example.com/seckill/internal/testing/apptest"
	"example.com/seckill/internal/testing/testservers"
)

func TestMain(m *testing.M) { testservers.Main(m) }

const (
	shards  = apptest.Shards
	patient = apptest.Patient
	// soon is how often a test looks again.
	soon = 10 * time.Millisecond
	// A coupon of these tests began an hour ago, and its tickets are drawn in an hour.
	window = 2 * time.Hour
)

// shop is an instance that draws nothing, on real stores.
type shop struct{ *apptest.Shop }

// onBoth runs a test on MariaDB with Redis, and on the embedded stores.
func onBoth(t *testing.T, test func(t *testing.T, s shop)) {
	apptest.OnBoth(t, func(t *testing.T, s *apptest.Shop) { test(t, shop{s}) })
}

// Sell publishes a coupon as an instance in lottery mode does.
func (s shop) Sell(t *testing.T, units int64, limit int) coupon.Coupon {
	t.Helper()
	c := s.Shop.Sell(t, units, limit)
	require.NoError(t, lottery.MakeDraw(t.Context(), s.DB, c.ID))
	return c
}

// open is a shop on MariaDB and Redis.
func open(t *testing.T) shop {
	t.Helper()
	return shop{apptest.Open(t)}
}

// instance is another instance over the same stores, which draws the first buyers of a sale.
type instance struct {
	*lottery.Service
	orders *order.Service
}

func (s shop) drawing(name string, alter ...func(p *order.Deps)) *instance {
	p := s.QueueDeps(name)
	for _, a := range alter {
		a(&p)
	}
	orders := order.NewService(p)
	return &instance{orders: orders, Service: lottery.New(lottery.Deps{
		Orders: orders, Draws: s.DB, Rows: p.DB, Sales: p.Sales, Stock: p.Shards, Queues: s.Stock,
		Window: window, PaymentTimeout: p.PaymentTimeout, Now: p.Now, Log: p.Log,
	})}
}

// consuming lets instances work on the queues until the function says so.
func consuming(t *testing.T, s shop, until func() bool, all ...*instance) {
	t.Helper()
	orders := make([]*order.Service, len(all))
	for i, one := range all {
		orders[i] = one.orders
	}
	s.Consume(t, until, orders...)
}

// place places a request, which becomes an order of that status.
func place(t *testing.T, s *instance, r order.Request, status order.Status) order.Order {
	t.Helper()
	o, err := s.Place(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, status, o.Status)
	return o
}

// flush loses all of Redis' data, and loads the stock again from the database.
func (s shop) flush(t *testing.T, c coupon.Coupon) coupon.Coupon {
	t.Helper()
	require.NoError(t, s.Redis.FlushAll(t.Context()).Err())
	c, err := s.Coupons.Reload(context.WithoutCancel(t.Context()), c.ID)
	require.NoError(t, err)
	return c
}
