package store

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

func ids(orders []order.Order) []int64 {
	all := []int64{}
	for _, o := range orders {
		all = append(all, o.ID)
	}
	return all
}

func TestOrders_OtherUser_FindsNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, s *subject) {
		c := onSale(t, s, 5)
		want := wish(c, 1, 1)
		require.NoError(t, place(t.Context(), s, c, want))
		got, err := s.Get(t.Context(), 1, 1)
		require.NoError(t, err)
		require.Equal(t, want, got)
		got, err = s.ByRequest(t.Context(), "r1", 1)
		require.NoError(t, err)
		require.Equal(t, want, got)
		for name, find := range map[string]func() (order.Order, error){
			"somebody else's":       func() (order.Order, error) { return s.Get(t.Context(), 1, 2) },
			"an unknown one":        func() (order.Order, error) { return s.Get(t.Context(), 2, 1) },
			"of an unknown request": func() (order.Order, error) { return s.ByRequest(t.Context(), "r2", 1) },
			"of another user":       func() (order.Order, error) { return s.ByRequest(t.Context(), "r1", 2) },
			"of another case":       func() (order.Order, error) { return s.ByRequest(t.Context(), "R1", 1) },
		} {
			_, err := find()
			require.ErrorIs(t, err, order.ErrNotFound, name)
		}
	})
}

func TestOrders_Pages_HaveNewestFirst(t *testing.T) {
	onBoth(t, func(t *testing.T, s *subject) {
		c := onSale(t, s, 9)
		c.LimitPerUser = 9
		for id := int64(1); id <= 5; id++ {
			placed(t, s, c, id, 1)
		}
		placed(t, s, c, 6, 2)
		require.NoError(t, s.Void(t.Context(), wish(c, 7, 1)))
		for before, want := range map[int64][]int64{0: {5, 4}, 4: {3, 2}, 2: {1}, 1: {}} {
			got, err := s.List(t.Context(), 1, before, 2)
			require.NoError(t, err)
			require.Equal(t, want, ids(got), "before %d", before)
		}
	})
}

func TestOverdueOrders_TimeUp_ArePendingOnes(t *testing.T) {
	onBoth(t, func(t *testing.T, s *subject) {
		c := onSale(t, s, 9)
		now := begins.Add(time.Hour)
		// SQLite compares times as texts: a fraction that ends earlier is no later one.
		for id, expires := range map[int64]time.Time{
			1: now.Add(-3 * time.Second), 2: now.Add(-2 * time.Millisecond), 3: now, 4: now.Add(time.Millisecond),
			5: now.Truncate(time.Second), 6: now.Truncate(time.Second).Add(200 * time.Millisecond), 7: now.Add(-time.Hour),
		} {
			o := wish(c, id, id)
			o.ExpiresAt = expires
			require.NoError(t, place(t.Context(), s, c, o))
		}
		_, err := pay(t.Context(), s, wish(c, 7, 7), begins.Add(-time.Hour))
		require.NoError(t, err)
		stop := errors.New("rolled back")
		expiring := func(at time.Time, skip, most int) (got []int64) {
			err := s.InTx(t.Context(), func(ctx context.Context, tx order.Tx) error {
				expired, err := tx.Expire(ctx, at, skip, most)
				if err != nil {
					return err
				}
				got = ids(expired)
				return stop
			})
			require.ErrorIs(t, err, stop)
			return got
		}
		require.Equal(t, []int64{1, 5, 2, 3}, expiring(now, 0, 10), "the oldest first")
		require.Equal(t, []int64{1, 5}, expiring(now, 0, 2), "two at most")
		require.Equal(t, []int64{5, 2}, expiring(now, 1, 2), "the first is passed over")
		require.Equal(t, []int64{1, 5, 2, 3}, expiring(now.Add(999*time.Microsecond).In(time.FixedZone("west", -8*3600)), 0, 10), "whatever the zone")
		for at, want := range map[time.Time]bool{now: true, begins: false} {
			due, err := s.Overdue(t.Context(), at)
			require.NoError(t, err)
			require.Equal(t, want, due)
		}
	})
}

func TestDueReturns_Pages_AreRead(t *testing.T) {
	onBoth(t, func(t *testing.T, s *subject) {
		c := onSale(t, s, 9)
		for id := int64(5); id >= 1; id-- {
			_, err := cancelOrder(t.Context(), s, placed(t, s, c, id, id))
			require.NoError(t, err)
		}
		require.NoError(t, s.Delivered(t.Context(), order.Restock{OrderID: 2, UserID: 2, Epoch: c.Epoch}))
		for after, want := range map[int64][]int64{0: {1, 3}, 3: {4, 5}, 5: nil} {
			page, err := s.DueRestocks(t.Context(), after, 2)
			require.NoError(t, err)
			var got []int64
			for _, r := range page {
				got = append(got, r.OrderID)
			}
			require.Equal(t, want, got, "after %d", after)
		}
	})
}

func TestUnpaidOrders_Coupon_AreItsPendingOnes(t *testing.T) {
	onEach(t, func(t *testing.T, s *subject) {
		c, other := onSale(t, s, 9), onSale(t, s, 9)
		n, until, err := s.Unpaid(t.Context(), c.ID)
		require.NoError(t, err)
		require.Zero(t, n)
		require.Zero(t, until)
		for id, in := range map[int64]time.Duration{1: time.Second, 2: time.Hour + time.Millisecond, 3: time.Minute, 4: 2 * time.Hour} {
			o := wish(c, id, id)
			o.ExpiresAt = begins.Add(in)
			require.NoError(t, place(t.Context(), s, c, o))
		}
		placed(t, s, other, 9, 9)
		require.NoError(t, s.Void(t.Context(), wish(c, 5, 5)))
		_, err = pay(t.Context(), s, wish(c, 4, 4), begins)
		require.NoError(t, err)
		n, until, err = s.Unpaid(t.Context(), c.ID)
		require.NoError(t, err)
		require.Equal(t, int64(3), n)
		require.Equal(t, begins.Add(time.Hour+time.Millisecond), until)
	})
}

func TestSales_PendingPaidAndEndedOrders_CountsLiveOnes(t *testing.T) {
	onEach(t, func(t *testing.T, s *subject) {
		c, other := onSale(t, s, 9), onSale(t, s, 4)
		for id := int64(1); id <= 3; id++ {
			placed(t, s, c, id, id)
		}
		_, err := pay(t.Context(), s, wish(c, 1, 1), begins)
		require.NoError(t, err)
		_, err = cancelOrder(t.Context(), s, wish(c, 2, 2))
		require.NoError(t, err)
		require.NoError(t, s.Void(t.Context(), wish(c, 5, 5)))
		got, err := s.Sales(t.Context(), c.ID, other.ID, 999)
		require.NoError(t, err)
		require.Equal(t, map[int64]Sales{c.ID: {Units: 9, Orders: 2}, other.ID: {Units: 4}}, got)
	})
	require.Zero(t, Sales{Units: 9, Orders: 9}.Oversold())
	require.EqualValues(t, 2, Sales{Units: 9, Orders: 11}.Oversold())
}

func TestLedger_OrdersAndReturns_AreOfOneMoment(t *testing.T) {
	onEach(t, func(t *testing.T, s *subject) {
		c, other := onSale(t, s, 9), onSale(t, s, 9)
		for id := int64(1); id <= 3; id++ {
			placed(t, s, c, id, id)
		}
		placed(t, s, other, 9, 9)
		l, err := s.Ledger(t.Context(), c.ID)
		require.NoError(t, err)
		require.Equal(t, Ledger{Units: 9, Unsold: 6}, l)
		_, err = cancelOrder(t.Context(), s, wish(c, 2, 2))
		require.NoError(t, err)
		l, err = s.Ledger(t.Context(), c.ID)
		require.NoError(t, err)
		require.Equal(t, Ledger{Units: 9, Unsold: 7, Returning: 1}, l)
		_, err = s.Ledger(t.Context(), other.ID+1)
		require.ErrorIs(t, err, coupon.ErrNotFound)
	})
}

func TestOrderNumber_VoidsAndOtherCoupons_AreNotCounted(t *testing.T) {
	onEach(t, func(t *testing.T, s *subject) {
		c, other := onSale(t, s, 9), onSale(t, s, 9)
		placed(t, s, c, 1, 1)
		require.NoError(t, s.Void(t.Context(), wish(c, 2, 2)))
		placed(t, s, other, 3, 3)
		placed(t, s, c, 4, 4)
		placed(t, s, c, 5, 5)
		for id, want := range map[int64]int64{1: 1, 4: 2, 5: 3} {
			n, err := s.OrderNumber(t.Context(), c.ID, id)
			require.NoError(t, err)
			require.Equal(t, want, n, "order %d", id)
		}
	})
}
