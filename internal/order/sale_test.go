package order_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/audit"
	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
	"example.com/seckill/internal/testing/apptest"
)

// draft announces a coupon whose window is open.
func (s *shop) draft(t *testing.T, units int64, limit int) coupon.Coupon {
	t.Helper()
	return s.in.Draft(t, units, limit)
}

// sell puts units on sale, with a limit per user.
func (s *shop) sell(t *testing.T, units int64, limit int) coupon.Coupon {
	t.Helper()
	return s.in.Sell(t, units, limit)
}

// reload repairs a Redis that lost its data.
func (s *shop) reload(t *testing.T, c coupon.Coupon) coupon.Coupon {
	t.Helper()
	c, err := s.coupons.Reload(t.Context(), c.ID)
	require.NoError(t, err)
	return c
}

// end ends the sale for good.
func (s *shop) end(t *testing.T, c coupon.Coupon) {
	t.Helper()
	_, err := s.coupons.Patch(t.Context(), c.ID, coupon.Change{End: true})
	require.NoError(t, err)
}

// flush loses all of Redis' data.
func (s *shop) flush(t *testing.T) {
	t.Helper()
	require.NoError(t, s.redis.FlushAll(t.Context()).Err())
}

// buy is a request that must succeed. The key may be empty.
func (s *shop) buy(t *testing.T, c coupon.Coupon, user int64, key string) order.Order {
	t.Helper()
	o, err := s.Place(t.Context(), wish(c, user, key))
	require.NoError(t, err)
	return o
}

func wish(c coupon.Coupon, user int64, key string) order.Request {
	return apptest.Request(c, user, key)
}

// exec is a statement behind the store's back.
func (s *shop) exec(t *testing.T, statement string, args ...any) {
	t.Helper()
	s.in.Exec(t, statement, args...)
}

// number reads one behind the store's back.
func (s *shop) number(t *testing.T, query string, args ...any) (n int64) {
	t.Helper()
	require.NoError(t, s.raw.QueryRowContext(t.Context(), query, args...).Scan(&n))
	return n
}

// atRest holds the stores to account as they are.
func (s *shop) atRest(t *testing.T, c coupon.Coupon, live int64) audit.Report {
	t.Helper()
	return s.in.RequireConsistent(t, c, live)
}

// settled is atRest after the background work.
func (s *shop) settled(t *testing.T, c coupon.Coupon, live int64) audit.Report {
	t.Helper()
	return s.in.RequireSettled(t, c, live)
}

// answer is the answer to one request.
type answer struct {
	order order.Order
	err   error
}

// together starts n at one signal and gives their answers.
func together(n int, do func(i int) (order.Order, error)) []answer {
	all := make([]answer, n)
	for i, a := range apptest.Together(n, do) {
		all[i] = answer{a.Order, a.Err}
	}
	return all
}

// key names a request of a test.
func key(i int) string { return fmt.Sprintf("key-%d", i) }

// shardKey is a key of Redis as the contract names it.
func shardKey(c coupon.Coupon, shard int, name string) string { return apptest.Key(c, shard, name) }

// old is an instance's knowledge from before a loading, until it is forgotten.
type old struct {
	order.Sales
	c      coupon.Coupon
	forgot atomic.Int64
}

func (o *old) Get(ctx context.Context, id int64) (coupon.Coupon, error) {
	if o.forgot.Load() > 0 {
		return o.Sales.Get(ctx, id)
	}
	return o.c, nil
}

func (o *old) Invalidate(id int64) {
	o.forgot.Add(1)
	o.Sales.Invalidate(id)
}

// stubborn forgets nothing.
type stubborn struct{ old }

func (s *stubborn) Get(context.Context, int64) (coupon.Coupon, error) { return s.c, nil }
