package audit_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/audit"
	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
	"example.com/seckill/internal/stock"
	"example.com/seckill/internal/store"
	"example.com/seckill/internal/testing/apptest"
	"example.com/seckill/internal/testing/testservers"
)

func TestMain(m *testing.M) { testservers.Main(m) }

const (
	shards  = apptest.Shards
	patient = apptest.Patient
)

// shop is a whole shop on real stores.
type shop struct {
	*audit.Auditor
	in         *apptest.Shop
	orders     *order.Service
	parts      order.Deps
	reconciler *order.Reconciler
	coupons    *coupon.Service
	db         *store.Store
	raw        *sql.DB // nil with the embedded stores
	redis      redis.UniversalClient
	stock      *stock.Stock
	returns    deaf
}

// deaf drops what is returned to the shards while it is deaf, so that a unit is owed.
type deaf struct {
	order.Shards
	on *atomic.Bool
}

func (d deaf) Restock(ctx context.Context, r order.Restock) error {
	if d.on.Load() {
		return order.ErrUnavailable
	}
	return d.Shards.Restock(ctx, r)
}

func onBoth(t *testing.T, test func(t *testing.T, s *shop)) {
	apptest.OnBoth(t, func(t *testing.T, s *apptest.Shop) { test(t, in(s)) })
}

func open(t *testing.T) *shop {
	t.Helper()
	return in(apptest.Open(t))
}

func in(s *apptest.Shop) *shop {
	returns := deaf{s.Deps.Shards, new(atomic.Bool)}
	parts := s.Deps
	parts.Shards = returns
	return &shop{
		Auditor: s.Auditor, in: s, orders: order.NewService(parts), parts: parts, reconciler: s.Reconciler, coupons: s.Coupons,
		db: s.DB, raw: s.Raw, redis: s.Redis, stock: s.Stock, returns: returns,
	}
}

// sell puts units on sale, two for each user.
func (s *shop) sell(t *testing.T, units int64) coupon.Coupon {
	t.Helper()
	return s.in.Sell(t, units, 2)
}

func (s *shop) draft(t *testing.T, units int64) coupon.Coupon {
	t.Helper()
	return s.in.Draft(t, units, 2)
}

func (s *shop) buy(t *testing.T, c coupon.Coupon, user int64) order.Order {
	t.Helper()
	o, err := s.orders.Place(t.Context(), order.Request{CouponID: c.ID, UserID: user})
	require.NoError(t, err)
	return o
}

// hold takes a unit for a request that goes no further.
func (s *shop) hold(t *testing.T, c coupon.Coupon, user int64) {
	t.Helper()
	got := s.stock.Reserve(t.Context(), []order.ReserveRequest{{
		CouponID: c.ID, UserID: user, RequestID: fmt.Sprintf("dead%d", user), OrderID: 1e9 + user,
		Limit: 2, Epoch: c.Epoch, Shards: c.Shards, Alone: true,
	}})
	require.NoError(t, got[0].Err)
}

// unconfirmed buys for a user and leaves the hold open, as an instance does that dies after the
// commit.
func (s *shop) unconfirmed(t *testing.T, c coupon.Coupon, user int64) {
	t.Helper()
	p := s.parts
	p.Shards = unconfirming{p.Shards}
	_, err := order.NewService(p).Place(t.Context(), order.Request{CouponID: c.ID, UserID: user})
	require.NoError(t, err)
}

type unconfirming struct{ order.Shards }

func (unconfirming) Confirm(_ context.Context, holds []order.Hold) []error {
	return slices.Repeat([]error{order.ErrUnavailable}, len(holds))
}

// owe cancels an order whose unit the shards are not given.
func (s *shop) owe(t *testing.T, o order.Order) {
	t.Helper()
	s.returns.on.Store(true)
	defer s.returns.on.Store(false)
	_, err := s.orders.Cancel(t.Context(), o.ID, o.UserID)
	require.NoError(t, err)
}

func (s *shop) exec(t *testing.T, statement string, args ...any) {
	t.Helper()
	s.in.Exec(t, statement, args...)
}

// key returns the Redis key of a shard.
func key(c coupon.Coupon, shard int, name string) string { return apptest.Key(c, shard, name) }

func (s *shop) audited(t *testing.T, c coupon.Coupon) audit.Report {
	t.Helper()
	r, err := s.Audit(t.Context(), c.ID)
	require.NoError(t, err)
	return r
}

// with returns the invariants that have the status.
func with(r audit.Report, status audit.Status) []string {
	ids := []string{}
	for _, i := range r.Invariants {
		if i.Status == status {
			ids = append(ids, i.ID)
		}
	}
	return ids
}
