package order_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// A larger database splits the orders by user; the order path is to notice nothing.
func TestPlace_TablesPartitionedByUser_SellsExactly(t *testing.T) {
	onEach(t, func(t *testing.T, s *shop) {
		for _, table := range []string{"orders", "fences", "stock_returns"} {
			s.exec(t, "ALTER TABLE "+table+" PARTITION BY HASH (user_id) PARTITIONS 8")
		}
		const users, units = 60, 40
		c := s.sell(t, units, 1)
		var sold []order.Order
		for _, a := range together(2*users, func(i int) (order.Order, error) {
			return s.Place(t.Context(), wish(c, int64(i%users), key(i%users)))
		}) {
			if a.err != nil {
				refused := errors.Is(a.err, coupon.ErrSoldOut) || errors.Is(a.err, order.ErrBusy) || errors.Is(a.err, order.ErrUnavailable)
				require.True(t, refused, "%v", a.err)
				continue
			}
			sold = append(sold, a.order) // twice, if both requests of its key were answered
		}
		s.settled(t, c, units)

		// A third is paid, a third cancelled, and for the rest the time runs out; each is
		// asked for several times at once.
		ends := func(i int) (order.Order, error) {
			o := sold[i%len(sold)]
			if o.UserID%3 == 0 {
				return s.Pay(t.Context(), o.ID, o.UserID)
			}
			return s.Cancel(t.Context(), o.ID, o.UserID)
		}
		changed := map[int64]order.Status{}
		for _, o := range sold {
			changed[o.ID] = order.Pending
		}
		sold = nil
		for id := range changed {
			var user int64
			require.NoError(t, s.raw.QueryRowContext(t.Context(), "SELECT user_id FROM orders WHERE id = ?", id).Scan(&user))
			if user%3 != 1 {
				sold = append(sold, order.Order{ID: id, UserID: user})
			}
		}
		for _, a := range together(3*len(sold), ends) {
			require.NoError(t, a.err)
			changed[a.order.ID] = a.order.Status
		}
		s.later(2 * paymentTimeout)
		expired, err := s.Expire(t.Context())
		require.NoError(t, err)
		paid, pending := int64(0), 0
		for _, status := range changed {
			switch status {
			case order.Paid:
				paid++
			case order.Pending:
				pending++
			default:
				require.Equal(t, order.Cancelled, status)
			}
		}
		require.Len(t, changed, units)
		require.Positive(t, paid)
		require.Positive(t, pending)
		require.Equal(t, pending, expired)
		require.Equal(t, units-paid, s.settled(t, c, paid).Stock, "every other unit came back")
	})
}
