package order_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// cancelled is an order whose unit the shards have not been given.
func (s *shop) cancelled(t *testing.T, c coupon.Coupon, user int64) order.Restock {
	t.Helper()
	o := s.buy(t, c, user, "")
	f := failing("before return")
	_, err := s.with(f.into).Cancel(t.Context(), o.ID, user)
	require.NoError(t, err)
	due, err := s.db.DueRestocks(t.Context(), o.ID-1, 1)
	require.NoError(t, err)
	return due[0]
}

func TestRelay_Repeated_ReturnsUnitOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		c := s.sell(t, 2, 1)
		r := s.cancelled(t, c, 7)
		report, err := s.auditor.Audit(t.Context(), c.ID)
		require.NoError(t, err)
		require.True(t, report.Clean)
		require.EqualValues(t, 1, report.Returns, "until then it is accounted for")

		for _, lost := range []string{"before return", "after return"} {
			away := s.reconcilerWith(func(p *order.ReconcilerDeps) { p.Shards = faultyShards{p.Shards, failing(lost)} })
			_, err = away.Relay(t.Context())
			require.ErrorIs(t, err, order.ErrUnavailable)
			due, err := s.db.DueRestocks(t.Context(), 0, 9)
			require.NoError(t, err)
			require.Len(t, due, 1, "it is owed until the shards are known to have it")
		}
		forgetful := s.reconcilerWith(func(p *order.ReconcilerDeps) { p.DB = faultyDatabase{p.DB, failing("before returned")} })
		_, err = forgetful.Relay(t.Context())
		require.ErrorIs(t, err, order.ErrUnavailable, "the instance dies between the two")
		for range 3 {
			require.NoError(t, s.stock.Restock(t.Context(), r))
		}
		n, err := s.Relay(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, n)
		n, err = s.Relay(t.Context())
		require.NoError(t, err)
		require.Zero(t, n)
		s.atRest(t, c, 0)
	})
}

func TestRelay_TwoAtOnce_ReturnEachUnitOnce(t *testing.T) {
	s := open(t)
	c := s.sell(t, 20, 1)
	for user := range int64(20) {
		s.cancelled(t, c, user)
	}
	for _, a := range together(4, func(int) (order.Order, error) {
		_, err := s.Relay(t.Context())
		return order.Order{}, err
	}) {
		require.NoError(t, a.err)
	}
	s.atRest(t, c, 0)
}

// The unit went back in the database. A loading after that has it already.
func TestRelay_ReturnDuringLoading_CountsUnitOnce(t *testing.T) {
	s := open(t)
	for name, loaded := range map[string]func(c coupon.Coupon, user int64) coupon.Coupon{
		"loaded before the return": func(c coupon.Coupon, user int64) coupon.Coupon {
			s.cancelled(t, c, user)
			return s.reload(t, c)
		},
		"loaded between the return and its note": func(c coupon.Coupon, user int64) coupon.Coupon {
			require.NoError(t, s.stock.Restock(t.Context(), s.cancelled(t, c, user)))
			return s.reload(t, c)
		},
		"begun, and cancelled before the shards were loaded": func(c coupon.Coupon, user int64) coupon.Coupon {
			o := s.buy(t, c, user, "")
			load, err := s.db.Coupons().NextEpoch(t.Context(), c.ID, c.Epoch, shards, false)
			require.NoError(t, err)
			_, err = s.Cancel(t.Context(), o.ID, user)
			require.NoError(t, err)
			n, err := s.Relay(t.Context())
			require.ErrorIs(t, err, coupon.ErrNotLoaded)
			require.Zero(t, n, "there is nowhere to put it yet")
			load.Buyers = func(ctx context.Context, after int64) (coupon.Page, error) {
				return s.db.Coupons().Buyers(ctx, load.CouponID, load.Epoch, after)
			}
			require.NoError(t, s.stock.Load(t.Context(), load))
			c, err = s.coupons.Read(t.Context(), c.ID)
			require.NoError(t, err)
			return c
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := s.sell(t, 3, 1)
			s.buy(t, c, 8, "")
			s.settled(t, loaded(c, 7), 1)
		})
	}
}

// The instance died between commit and confirmation, and another one cancels.
func TestRelay_UnconfirmedOrder_ReturnsUnitOnce(t *testing.T) {
	s := open(t)
	for _, step := range []string{"before confirm", "after confirm"} {
		c := s.sell(t, 3, 1) // and once from a sibling
		user := last(c)
		o, err := s.with(failing(step).into).Place(t.Context(), wish(c, user, ""))
		require.NoError(t, err)
		_, err = s.Cancel(t.Context(), o.ID, user)
		require.NoError(t, err)
		s.settled(t, c, 0)
	}
}

func TestRelay_OneReturnFails_OthersGoOn(t *testing.T) {
	s := open(t)
	closed, c := s.sell(t, 2, 1), s.sell(t, 2, 1)
	s.cancelled(t, closed, 7)
	s.cancelled(t, c, 8)
	for shard := range shards {
		require.NoError(t, s.redis.Del(t.Context(), shardKey(closed, shard, "stock"), shardKey(closed, shard, "meta")).Err())
	}
	n, err := s.Relay(t.Context())
	require.ErrorIs(t, err, coupon.ErrNotLoaded)
	require.Equal(t, 1, n)
	s.atRest(t, c, 0)
	s.settled(t, s.reload(t, closed), 0)
}

// Another instance has moved the end, and loads the shards. This one has not heard of it.
func TestRelay_EndWasMovedElsewhere_KeepsTheUnitOwed(t *testing.T) {
	s := open(t)
	c := s.sell(t, 2, 1)
	s.cancelled(t, c, 7)
	stale := &old{Sales: s.deps.Sales, c: c}
	stale.c.EndsAt = time.Now().Add(-time.Minute)
	s.flush(t)
	relay := s.reconcilerWith(func(p *order.ReconcilerDeps) { p.Sales = stale })
	n, err := relay.Relay(t.Context())
	require.ErrorIs(t, err, coupon.ErrNotLoaded)
	require.Zero(t, n)
	due, err := s.db.DueRestocks(t.Context(), 0, 9)
	require.NoError(t, err)
	require.Len(t, due, 1)
	s.settled(t, s.reload(t, c), 0)
}

func TestRelay_SaleEnded_NeedsNoRedis(t *testing.T) {
	s := open(t)
	for name, ends := range map[string]func(c coupon.Coupon){
		"by an administrator": func(c coupon.Coupon) { s.end(t, c) },
		"by the clock": func(c coupon.Coupon) {
			past := time.Now().Add(-time.Minute)
			s.patch(t, c, coupon.Change{EndsAt: &past})
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := s.sell(t, 2, 1)
			s.cancelled(t, c, 7)
			s.flush(t)
			ends(c)
			n, err := s.Relay(t.Context())
			require.NoError(t, err)
			require.Equal(t, 1, n)
			require.Zero(t, s.number(t, "SELECT COUNT(*) FROM stock_returns"))
			s.atRest(t, c, 0)
		})
	}
}

func TestRelay_ContextEnds_Stops(t *testing.T) {
	s := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Relay(ctx)
	require.ErrorIs(t, err, context.Canceled)
}
