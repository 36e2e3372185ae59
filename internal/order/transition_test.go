package order_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// change is what a user or the clock does to a pending order.
type change struct {
	do  func(s *shop, ctx context.Context, o order.Order) (order.Order, error)
	end order.Status
}

var (
	pay = change{func(s *shop, ctx context.Context, o order.Order) (order.Order, error) {
		return s.Pay(ctx, o.ID, o.UserID)
	}, order.Paid}
	cancelling = change{func(s *shop, ctx context.Context, o order.Order) (order.Order, error) {
		return s.Cancel(ctx, o.ID, o.UserID)
	}, order.Cancelled}
)

func TestTransition_Repeated_ReturnsSameOrder(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		for name, tc := range map[string]struct {
			first, other change
			live         int64
		}{
			"paid":      {pay, cancelling, 1},
			"cancelled": {cancelling, pay, 0},
		} {
			t.Run(name, func(t *testing.T) {
				c := s.sell(t, 2, 1)
				o := s.buy(t, c, 7, "")
				_, err := tc.first.do(s, t.Context(), order.Order{ID: o.ID, UserID: 8})
				require.ErrorIs(t, err, order.ErrNotFound, "somebody else's")
				for range 2 {
					changed, err := tc.first.do(s, t.Context(), o)
					require.NoError(t, err)
					require.Equal(t, tc.first.end, changed.Status)
				}
				_, err = tc.other.do(s, t.Context(), o)
				require.ErrorIs(t, err, order.ErrConflict)
				s.later(2 * paymentTimeout)
				defer s.later(0)
				n, err := s.Expire(t.Context())
				require.NoError(t, err)
				require.Zero(t, n)
				s.settled(t, c, tc.live)
			})
		}
	})
}

func TestCancel_Unit_CanBeBoughtAgainAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		c := s.sell(t, 1, 1)
		for user := int64(1); user < 9; user++ {
			for range 2 {
				o := s.buy(t, c, user, "")
				require.Equal(t, 1, o.Slot)
				_, err := s.Cancel(t.Context(), o.ID, user)
				require.NoError(t, err)
			}
		}
		s.settled(t, c, 0)
	})
}

func TestExpire_Unpaid_EndsOrder(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		c := s.sell(t, 3, 1)
		late, paid := s.buy(t, c, 1, ""), s.buy(t, c, 2, "")
		_, err := s.Pay(t.Context(), paid.ID, 2)
		require.NoError(t, err)
		n, err := s.Expire(t.Context())
		require.NoError(t, err)
		require.Zero(t, n, "it is not due")

		s.later(paymentTimeout)
		_, err = s.Pay(t.Context(), late.ID, 1)
		require.ErrorIs(t, err, order.ErrConflict, "too late, though nobody has written that down")
		n, err = s.Expire(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, n)
		o, err := s.Get(t.Context(), late.ID, 1)
		require.NoError(t, err)
		require.Equal(t, []any{order.Expired, 0}, []any{o.Status, o.Slot})
		s.settled(t, c, 1)
	})
}

// An order that cannot be ended, whatever the reason, keeps no other from ending.
func TestExpire_OneOrderFails_OthersGoOn(t *testing.T) {
	s := open(t)
	c := s.sell(t, 8, 1)
	var sold []order.Order
	for user := range int64(7) {
		sold = append(sold, s.buy(t, c, user, ""))
	}
	s.later(paymentTimeout)
	poison := sold[2]
	s.exec(t, "INSERT INTO stock_returns (order_id, coupon_id, user_id, shard, epoch, shards) VALUES (?, ?, ?, 0, 1, 4)",
		poison.ID, c.ID, poison.UserID)
	n, err := s.Expire(t.Context())
	require.ErrorContains(t, err, "Duplicate entry", "its unit has been returned")
	require.Equal(t, 6, n)
	s.exec(t, "DELETE FROM stock_returns WHERE order_id = ?", poison.ID)
	n, err = s.Expire(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, n)
	s.settled(t, c, 0)
}

// What the database did not answer is asked for again.
func TestExpire_DatabaseDown_IsTriedAgain(t *testing.T) {
	s := open(t)
	for step, want := range map[string]int{"before expire": 3, "after give back": 3, "before commit": 3, "after commit": 0} {
		s.later(0)
		c := s.sell(t, 4, 1)
		for user := range int64(3) {
			s.buy(t, c, user, "")
		}
		s.later(paymentTimeout)
		f := failing(step)
		n, err := s.reconcilerWith(func(p *order.ReconcilerDeps) { p.DB = faultyDatabase{p.DB, f} }).Expire(t.Context())
		require.True(t, errors.Is(err, order.ErrUnavailable) || errors.Is(err, order.ErrCommitUnknown), "%s: %v", step, err)
		require.Empty(t, f.left(), step)
		require.Equal(t, want, n, step)
		s.settled(t, c, 0)
	}
}

// Each instance takes orders that no other has, so that the fleet expires them as fast as
// it sold them.
func TestExpire_SeveralInstances_ShareTheWork(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		const sold = 60
		c := s.sell(t, sold, 1)
		for user := range int64(sold) {
			s.buy(t, c, user, "")
		}
		s.later(paymentTimeout)
		var expired atomic.Int64
		for _, a := range together(4, func(int) (order.Order, error) {
			n, err := s.reconcilerWith(func(*order.ReconcilerDeps) {}).Expire(t.Context())
			expired.Add(int64(n))
			return order.Order{}, err
		}) {
			require.NoError(t, a.err)
		}
		n, err := s.Expire(t.Context()) // what one had locked, the others have left to it
		require.NoError(t, err)
		require.EqualValues(t, sold, expired.Load()+int64(n))
		due, err := s.db.DueRestocks(t.Context(), 0, sold)
		require.NoError(t, err)
		require.Empty(t, due, "who expired them has returned the units")
		s.atRest(t, c, 0)
	})
}

// Whoever may pay for longer than the shards are kept still has an order that ends; its
// unit is owed to nobody.
func TestTransition_SaleFreed_Ends(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		c := s.sell(t, 5, 1)
		late, gone := s.buy(t, c, 1, ""), s.buy(t, c, 2, "")
		_, err := s.Pay(t.Context(), s.buy(t, c, 3, "").ID, 3)
		require.NoError(t, err)
		begun, past := time.Now().Add(-99*time.Hour), time.Now().Add(-25*time.Hour)
		s.patch(t, c, coupon.Change{BeginsAt: &begun, EndsAt: &past})
		n, err := s.coupons.Free(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, n)
		_, err = s.Cancel(t.Context(), gone.ID, 2)
		require.NoError(t, err)
		s.later(paymentTimeout)
		n, err = s.Expire(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, n)
		o, err := s.Get(t.Context(), late.ID, 1)
		require.NoError(t, err)
		require.Equal(t, order.Expired, o.Status)
		s.settled(t, c, 1)
		due, err := s.db.DueRestocks(t.Context(), 0, 9)
		require.NoError(t, err)
		require.Empty(t, due)
	})
}

// Payment, cancellation and expiry meet on one order: exactly one wins.
func TestTransition_PayCancelExpireRace_OneWins(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		c := s.sell(t, 20, 20)
		live := int64(0)
		for range 20 {
			s.later(0)
			o := s.buy(t, c, 7, "")
			overdue := s.reconcilerWith(func(p *order.ReconcilerDeps) { p.Now = func() time.Time { return o.ExpiresAt } })
			told := map[order.Status]int{}
			for i, a := range together(9, func(i int) (order.Order, error) {
				switch i % 3 {
				case 0:
					return s.Pay(t.Context(), o.ID, 7)
				case 1:
					return s.Cancel(t.Context(), o.ID, 7)
				}
				_, err := overdue.Expire(t.Context())
				return o, err
			}) {
				if a.err == nil && i%3 < 2 {
					told[a.order.Status]++
				} else if a.err != nil {
					require.ErrorIs(t, a.err, order.ErrConflict)
				}
			}
			row, err := s.Get(t.Context(), o.ID, 7)
			require.NoError(t, err)
			require.NotEqual(t, order.Pending, row.Status)
			delete(told, row.Status)
			require.Empty(t, told, "somebody was told what did not happen: it is %s", row.Status)
			if row.Status == order.Paid {
				live++
			}
		}
		s.settled(t, c, live)
	})
}

// A cancellation fails at each of its steps. Asking again ends it, and the unit is
// back once.
func TestCancel_AnyStepFails_ReturnsUnitOnce(t *testing.T) {
	s := open(t)
	for steps, want := range map[string]error{
		"before begin":     order.ErrUnavailable,
		"before cancel":    order.ErrUnavailable,
		"after cancel":     order.ErrUnavailable,
		"before give back": order.ErrUnavailable,
		"after give back":  order.ErrUnavailable,
		"before commit":    order.ErrUnavailable,
		"after commit":     order.ErrUnavailable,
		"before return":    nil,
		"after return":     nil,
	} {
		t.Run(steps, func(t *testing.T) {
			c := s.sell(t, 2, 1)
			o := s.buy(t, c, 7, "")
			f := failing(strings.Split(steps, ", ")...)
			_, err := s.with(f.into).Cancel(t.Context(), o.ID, 7)
			require.ErrorIs(t, err, want)
			require.NotErrorIs(t, err, order.ErrNotFound)
			require.Empty(t, f.left())
			again, err := s.Cancel(t.Context(), o.ID, 7)
			require.NoError(t, err)
			require.Equal(t, order.Cancelled, again.Status)
			report := s.settled(t, c, 0)
			require.EqualValues(t, 2, report.Redis)
			require.Zero(t, s.number(t, "SELECT COUNT(*) FROM stock_returns"))
		})
	}
}
