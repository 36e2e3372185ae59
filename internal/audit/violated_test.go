package audit_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/audit"
	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
	"example.com/seckill/internal/testing/apptest"
)

// A held unit, a sold one whose hold is open, a returned one and one that is owed are each counted once.
func TestAudit_UnitsHeldReturnedAndOwed_CountsEachOnce(t *testing.T) {
	s := in(apptest.OpenEmbedded(t))
	c := s.sell(t, 40)
	for user := int64(1); user <= 12; user++ {
		if user%4 == 0 {
			s.unconfirmed(t, c, user)
			continue
		}
		o := s.buy(t, c, user)
		switch user % 4 {
		case 1:
			s.owe(t, o)
		case 2:
			_, err := s.orders.Cancel(t.Context(), o.ID, user)
			require.NoError(t, err)
		case 3:
			got := s.stock.Reserve(t.Context(), []order.ReserveRequest{{
				CouponID: c.ID, UserID: user, RequestID: fmt.Sprintf("held%d", user), OrderID: 10_000 + user, Limit: 2, Epoch: c.Epoch,
				Shards: shards, Alone: true,
			}})
			require.NoError(t, got[0].Err)
		}
		r := s.audited(t, c)
		require.True(t, r.Clean, "%v", r.Violations)
	}
}

// Each invariant is violated by writing to a store directly, and the audit reports which. Some
// cannot be violated alone: what is missing in the database is missing in the comparison with Redis
// too.
func TestAudit_StoreCorrupted_ReportsViolatedInvariant(t *testing.T) {
	s := open(t)
	sql := func(statement string, args ...any) func(*testing.T, coupon.Coupon, order.Order) {
		return func(t *testing.T, c coupon.Coupon, o order.Order) {
			given := map[string]any{"coupon": c.ID, "order": o.ID, "user": o.UserID}
			values := make([]any, len(args))
			for i, name := range args {
				values[i] = given[name.(string)]
			}
			s.exec(t, statement, values...)
		}
	}
	redis := func(do func(t *testing.T, c coupon.Coupon, o order.Order) error) func(*testing.T, coupon.Coupon, order.Order) {
		return func(t *testing.T, c coupon.Coupon, o order.Order) { require.NoError(t, do(t, c, o)) }
	}
	for name, tc := range map[string]struct {
		broken func(t *testing.T, c coupon.Coupon, o order.Order)
		want   []string
	}{
		"the database lost a unit": {sql("UPDATE coupons SET stock = stock - 1 WHERE id = ?", "coupon"), []string{"I1", "I6"}},
		"the database has a unit too many": {
			sql("UPDATE coupons SET stock = stock + 1 WHERE id = ?", "coupon"), []string{"I1", "I6"},
		},
		"more is sold than was on sale": {
			sql("UPDATE coupons SET stock = 0, total = 1 WHERE id = ?", "coupon"), []string{"I1", "I2", "I4", "I6"},
		},
		"a user has more than the limit": {
			sql("UPDATE coupons SET limit_per_user = 1 WHERE id = ?", "coupon"), []string{"I3"},
		},
		"Redis counts an order of a user too few": {redis(func(t *testing.T, c coupon.Coupon, o order.Order) error {
			return s.redis.HIncrBy(t.Context(), key(c, coupon.Home(o.UserID, shards), "buyers"), strconv.FormatInt(o.UserID, 10), -1).Err()
		}), []string{"I3"}},
		"Redis counts an order of a user who has none": {redis(func(t *testing.T, c coupon.Coupon, _ order.Order) error {
			return s.redis.HSet(t.Context(), key(c, 0, "buyers"), "4711", 1).Err()
		}), []string{"I3"}},
		"a shard has a unit too many": {redis(func(t *testing.T, c coupon.Coupon, _ order.Order) error {
			return s.redis.Incr(t.Context(), key(c, 0, "stock")).Err()
		}), []string{"I4", "I6"}},
		"a shard has lost a unit": {redis(func(t *testing.T, c coupon.Coupon, _ order.Order) error {
			return s.redis.Decr(t.Context(), key(c, 0, "stock")).Err()
		}), []string{"I4", "I6"}},
		"a shard is below zero, and another has its units": {redis(func(t *testing.T, c coupon.Coupon, _ order.Order) error {
			return s.redis.Eval(t.Context(), `
				local left = redis.call('GET', KEYS[1])
				redis.call('SET', KEYS[1], -1)
				return redis.call('INCRBY', KEYS[2], left + 1)`,
				[]string{key(c, 0, "stock"), key(c, 1, "stock")}).Err()
		}), []string{"I5"}},
		"a shard has lost its counter": {redis(func(t *testing.T, c coupon.Coupon, _ order.Order) error {
			return s.redis.Del(t.Context(), key(c, 3, "stock")).Err()
		}), []string{"I4", "I6"}},
		"a shard is of another epoch": {redis(func(t *testing.T, c coupon.Coupon, _ order.Order) error {
			return s.redis.HSet(t.Context(), key(c, 3, "meta"), "epoch", 77).Err()
		}), []string{"I4", "I6"}},
		"Redis lost everything": {redis(func(t *testing.T, _ coupon.Coupon, _ order.Order) error {
			return s.redis.FlushAll(t.Context()).Err()
		}), []string{"I4", "I6"}},
		"Redis knows an order that is nowhere": {redis(func(t *testing.T, c coupon.Coupon, _ order.Order) error {
			return s.redis.HSet(t.Context(), key(c, 0, "requests"), "ghost", 4711).Err()
		}), []string{"I7"}},
		"the database lost an order": {sql("DELETE FROM orders WHERE id = ?", "order"), []string{"I1", "I3", "I4", "I7"}},
		"an order became void": {
			sql("UPDATE orders SET status = 'void', slot = NULL WHERE id = ?", "order"), []string{"I1", "I3", "I4", "I7"},
		},
		"a request has another order in Redis": {redis(func(t *testing.T, c coupon.Coupon, o order.Order) error {
			return s.redis.HSet(t.Context(), key(c, coupon.Home(o.UserID, shards), "requests"), o.RequestID, 4711).Err()
		}), []string{"I8"}},
		"a live order has no slot":    {sql("UPDATE orders SET slot = NULL WHERE id = ?", "order"), []string{"I9"}},
		"an order is in no state":     {sql("UPDATE orders SET status = 'lost' WHERE id = ?", "order"), []string{"I1", "I3", "I4", "I9"}},
		"a user's fence went back":    {sql("UPDATE fences SET fence = 1 WHERE user_id = ?", "user"), []string{"I9"}},
		"a user's fence is gone":      {sql("DELETE FROM fences WHERE user_id = ?", "user"), []string{"I9"}},
		"a live order's unit is owed": {sql("INSERT INTO stock_returns SELECT id, coupon_id, user_id, shard, 1, 4 FROM orders WHERE id = ?", "order"), []string{"I3", "I4", "I6", "I9"}},
		"a paid order gave its unit back": {
			func(t *testing.T, c coupon.Coupon, o order.Order) {
				s.owe(t, o)
				s.exec(t, "UPDATE orders SET status = 'paid', slot = 2 WHERE id = ?", o.ID)
			}, []string{"I1", "I3", "I4", "I9"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := s.sell(t, 10)
			user := c.ID * 100
			s.buy(t, c, user)
			o := s.buy(t, c, user)
			tc.broken(t, c, o)
			r := s.audited(t, c)
			require.Equal(t, tc.want, with(r, audit.Violated), "%v", r.Violations)
			require.False(t, r.Clean)
			require.Len(t, r.Violations, len(tc.want))
			for i, id := range tc.want {
				require.Contains(t, r.Violations[i], id+": ")
			}
			s.exec(t, "DELETE FROM stock_returns")
		})
	}
}

// The unique index prevents this.
func TestReport_TwoOrdersOfOneRequest_AreDuplicates(t *testing.T) {
	s := open(t)
	c := s.sell(t, 10)
	a, b := s.buy(t, c, 1), s.buy(t, c, 1)
	s.exec(t, "ALTER TABLE orders DROP INDEX orders_request")
	s.exec(t, "UPDATE orders SET request_id = ? WHERE id = ?", a.RequestID, b.ID)
	r := s.audited(t, c)
	require.Contains(t, with(r, audit.Violated), "I8")
	require.EqualValues(t, 1, r.Duplicates)
}

func TestReport_SoldTooMuch_CountsExcess(t *testing.T) {
	s := open(t)
	c := s.sell(t, 10)
	s.buy(t, c, 1)
	s.buy(t, c, 1)
	s.exec(t, "UPDATE coupons SET stock = 0, total = 1, limit_per_user = 1 WHERE id = ?", c.ID)
	r := s.audited(t, c)
	require.EqualValues(t, 1, r.Oversold)
	require.EqualValues(t, 1, r.Duplicates)
}

func TestAudit_UnitsAddedAndNotInTheShards_AreOwed(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		c := s.sell(t, 10)
		s.buy(t, c, 1)
		more := int64(17)
		_, err := s.coupons.Patch(t.Context(), c.ID, coupon.Change{Total: &more})
		require.NoError(t, err)
		r := s.audited(t, c)
		require.True(t, r.Clean && r.Settled, "%v", r.Violations)
		require.Equal(t, []int64{17, 16, 1, 0, 16}, []int64{r.Total, r.Stock, r.Live, r.Returns, r.Redis})

		require.NoError(t, s.redis.DecrBy(t.Context(), key(c, 1, "stock"), 2).Err()) // as if the shard had not got its two
		require.NoError(t, s.redis.HDel(t.Context(), key(c, 1, "meta"), "raised").Err())
		r = s.audited(t, c)
		require.Empty(t, r.Violations)
		require.False(t, r.Settled)
		require.Equal(t, []int64{2, 14}, []int64{r.Returns, r.Redis})

		require.NoError(t, s.redis.HSet(t.Context(), key(c, 1, "meta"), "raised", 99).Err()) // more than were added
		r = s.audited(t, c)
		require.Equal(t, []string{"I4", "I6"}, with(r, audit.Violated))
	})
}
