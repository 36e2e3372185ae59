package order_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"seckill/internal/order"
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

func TestAnOrderChangesOnceAndAskingAgainGetsTheSameAnswer(t *testing.T) {
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
				s.later(2 * payWithin)
				defer s.later(0)
				n, err := s.Expire(t.Context())
				require.NoError(t, err)
				require.Zero(t, n)
				s.settled(t, c, tc.live)
			})
		}
	})
}

func TestACancelledUnitCanBeBoughtAgainAtOnceBySameUserAndOthers(t *testing.T) {
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

func TestAnOrderThatIsNotPaidInTimeExpires(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		c := s.sell(t, 3, 1)
		late, paid := s.buy(t, c, 1, ""), s.buy(t, c, 2, "")
		_, err := s.Pay(t.Context(), paid.ID, 2)
		require.NoError(t, err)
		n, err := s.Expire(t.Context())
		require.NoError(t, err)
		require.Zero(t, n, "it is not due")

		s.later(payWithin)
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
func TestAnOrderThatCannotBeExpiredDoesNotStopTheOthers(t *testing.T) {
	s := open(t)
	c := s.sell(t, 4, 1)
	for user := range int64(3) {
		s.buy(t, c, user, "")
	}
	s.later(payWithin)
	f := failing("before expire")
	settler := s.settlerWith(func(p *order.SettlerParts) { p.Tx = faultyTransactor{p.Tx, f} })
	n, err := settler.Expire(t.Context())
	require.ErrorIs(t, err, order.ErrUnavailable)
	require.Equal(t, 2, n)
	n, err = settler.Expire(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, n)
	s.settled(t, c, 0)
}

// Payment, cancellation and expiry meet on one order: exactly one wins.
func TestOfPaymentCancellationAndExpiryOneWins(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		c := s.sell(t, 20, 20)
		live := int64(0)
		for range 20 {
			s.later(0)
			o := s.buy(t, c, 7, "")
			overdue := s.settlerWith(func(p *order.SettlerParts) { p.Now = func() time.Time { return o.ExpiresAt } })
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
func TestWhicheverStepOfACancellationFailsTheUnitComesBackOnce(t *testing.T) {
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
