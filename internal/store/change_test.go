package store

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/order"
)

// The three ways in which a pending order ends.

func pay(ctx context.Context, s *subject, o order.Order, now time.Time) (moved bool, err error) {
	err = s.InTx(ctx, func(ctx context.Context, tx order.Tx) (err error) {
		moved, err = tx.Pay(ctx, o.ID, o.UserID, now)
		return err
	})
	return moved, err
}

func cancelOrder(ctx context.Context, s *subject, o order.Order) (moved bool, err error) {
	return ending(ctx, s, o, func(ctx context.Context, tx order.Tx) (bool, error) { return tx.Cancel(ctx, o.ID, o.UserID) })
}

func expire(ctx context.Context, s *subject, o order.Order, now time.Time) (moved bool, err error) {
	err = s.InTx(ctx, func(ctx context.Context, tx order.Tx) error {
		expired, err := tx.Expire(ctx, now, 0, 10)
		if err != nil {
			return err
		}
		moved = slices.Contains(ids(expired), o.ID)
		_, err = tx.Restock(ctx, expired...)
		return err
	})
	return moved, err
}

func ending(ctx context.Context, s *subject, o order.Order, end func(context.Context, order.Tx) (bool, error)) (moved bool, err error) {
	err = s.InTx(ctx, func(ctx context.Context, tx order.Tx) (err error) {
		if moved, err = end(ctx, tx); err != nil || !moved {
			return err
		}
		_, err = tx.Restock(ctx, o)
		return err
	})
	return moved, err
}

func TestPendingOrder_EachTransition_SetsStatus(t *testing.T) {
	onBoth(t, func(t *testing.T, s *subject) {
		c := onSale(t, s, 100)
		due := wish(c, 1, 1).ExpiresAt
		stranger := func(o order.Order) order.Order { o.UserID = 99; return o }
		id := int64(0)
		for name, tc := range map[string]struct {
			end  func(o order.Order) (bool, error)
			want order.Status
		}{
			"paid in time":                 {func(o order.Order) (bool, error) { return pay(t.Context(), s, o, due.Add(-time.Millisecond)) }, order.Paid},
			"paid at the last instant":     {func(o order.Order) (bool, error) { return pay(t.Context(), s, o, due) }, order.Pending},
			"paid by another user":         {func(o order.Order) (bool, error) { return pay(t.Context(), s, stranger(o), begins) }, order.Pending},
			"cancelled":                    {func(o order.Order) (bool, error) { return cancelOrder(t.Context(), s, o) }, order.Cancelled},
			"cancelled by another user":    {func(o order.Order) (bool, error) { return cancelOrder(t.Context(), s, stranger(o)) }, order.Pending},
			"expired at its instant":       {func(o order.Order) (bool, error) { return expire(t.Context(), s, o, due) }, order.Expired},
			"not expired a moment earlier": {func(o order.Order) (bool, error) { return expire(t.Context(), s, o, due.Add(-time.Millisecond)) }, order.Pending},
		} {
			id++
			o := placed(t, s, c, id, id)
			moved, err := tc.end(o)
			require.NoError(t, err, name)
			require.Equal(t, tc.want != order.Pending, moved, name)
			after, err := s.Get(t.Context(), id, id)
			require.NoError(t, err, name)
			require.Equal(t, tc.want, after.Status, name)
			require.Equal(t, tc.want.Live(), after.Slot > 0, "a slot is for live orders: %s", name)
			moved, err = tc.end(o)
			require.NoError(t, err, name)
			require.False(t, moved, "a second time changes nothing: %s", name)
		}
		left(t, s, c)
	})
}

func TestPendingOrder_PayCancelExpireRace_OneWins(t *testing.T) {
	onBoth(t, func(t *testing.T, s *subject) {
		const rounds = 25
		c := onSale(t, s, rounds)
		won := map[order.Status]int64{}
		for id := int64(1); id <= rounds; id++ {
			o := placed(t, s, c, id, id)
			var paid, cancelled, expired bool
			for _, err := range together(
				func() (err error) { paid, err = pay(t.Context(), s, o, o.ExpiresAt.Add(-1)); return err },
				func() (err error) { cancelled, err = cancelOrder(t.Context(), s, o); return err },
				func() (err error) { expired, err = expire(t.Context(), s, o, o.ExpiresAt.Add(1)); return err },
			) {
				require.NoError(t, err)
			}
			after, err := s.Get(t.Context(), id, id)
			require.NoError(t, err)
			want := map[order.Status]bool{order.Paid: paid, order.Cancelled: cancelled, order.Expired: expired}
			for status, moved := range want {
				require.Equal(t, after.Status == status, moved, "%s: %v", after.Status, want)
			}
			won[after.Status]++
		}
		b, err := booksOf(t.Context(), s, c.ID)
		require.NoError(t, err)
		require.Equal(t, won, b.ByStatus)
		require.Equal(t, won[order.Paid], b.Live)
		require.Len(t, b.Due, int(rounds-won[order.Paid]), "each unit went back once")
		require.Zero(t, b.BadState)
		left(t, s, c)
	})
}

func TestChange_UnitReturned_WritesOutboxEntry(t *testing.T) {
	onBoth(t, func(t *testing.T, s *subject) {
		c := onSale(t, s, 5)
		o := placed(t, s, c, 1, 1)
		load, err := s.Coupons().NextEpoch(t.Context(), c.ID, c.Epoch, 2, false)
		require.NoError(t, err)
		moved, err := cancelOrder(t.Context(), s, o)
		require.NoError(t, err)
		require.True(t, moved)
		due, err := s.DueRestocks(t.Context(), 0, 10)
		require.NoError(t, err)
		require.Equal(t, []order.Restock{{OrderID: 1, CouponID: c.ID, UserID: 1, Shard: 3, Epoch: load.Epoch, Shards: 2}}, due,
			"it is owed to the epoch that it went back in")
		stock, live := left(t, s, c)
		require.Equal(t, []int64{5, 0}, []int64{stock, live})

		err = s.InTx(t.Context(), func(ctx context.Context, tx order.Tx) error { _, err := tx.Restock(ctx, o); return err })
		require.Error(t, err, "a second time is refused")
		before := due[0]
		before.Epoch--
		require.NoError(t, s.Delivered(t.Context(), before))
		still, err := s.DueRestocks(t.Context(), 0, 10)
		require.NoError(t, err)
		require.Equal(t, due, still, "what an older epoch has got is not what this one is owed")
		require.NoError(t, s.Delivered(t.Context(), due[0]))
		require.NoError(t, s.Delivered(t.Context(), due[0]), "noted twice is noted once")
		owed, err := s.DueRestocks(t.Context(), 0, 10)
		require.NoError(t, err)
		require.Empty(t, owed)
		left(t, s, c)
	})
}

// Two instances expire orders at once: neither waits for the other, and neither takes
// what the other has.
func TestExpire_OrdersOfAnotherInstance_AreSkipped(t *testing.T) {
	s := onMariaDB(t, "innodb_lock_wait_timeout=1")
	c := onSale(t, s, 9)
	for id := int64(1); id <= 4; id++ {
		placed(t, s, c, id, id)
	}
	var first, second []int64
	require.NoError(t, s.InTx(t.Context(), func(ctx context.Context, tx order.Tx) error {
		expired, err := tx.Expire(ctx, begins.Add(time.Hour), 0, 2)
		if first = ids(expired); err != nil {
			return err
		}
		return s.InTx(t.Context(), func(ctx context.Context, tx order.Tx) error { // another instance's
			expired, err := tx.Expire(ctx, begins.Add(time.Hour), 0, 10)
			second = ids(expired)
			return err
		})
	}))
	require.Equal(t, []int64{1, 2}, first)
	require.Equal(t, []int64{3, 4}, second)
}
