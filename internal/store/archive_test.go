package store

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
	"example.com/seckill/internal/testing/testservers"
)

// ended is sold, a day after its end and with its shards freed.
func ended(t *testing.T, s *subject) coupon.Coupon {
	t.Helper()
	c := sold(t, s)
	due, err := s.DueRestocks(t.Context(), 0, 10)
	require.NoError(t, err)
	require.NoError(t, s.Delivered(t.Context(), due...))
	for _, id := range []int64{1, 5, 6} {
		_, err := pay(t.Context(), s, wish(c, id, id), begins)
		require.NoError(t, err)
	}
	raw(t, s, "UPDATE coupons SET shards = 0 WHERE id = ?", c.ID)
	return c
}

func TestArchive_SaleEndedLongAgo_IsDoneInSteps(t *testing.T) {
	onBoth(t, func(t *testing.T, s *subject) {
		c := ended(t, s)
		before, err := booksOf(t.Context(), s, c.ID)
		require.NoError(t, err)
		long := c.EndsAt.Add(time.Hour)
		can, err := s.Coupons().Archivable(t.Context(), long, 0, 10)
		require.NoError(t, err)
		require.Len(t, can, 1, "the other one has its shards yet")

		var all Archived
		steps := 0
		for {
			step, err := s.Archive(t.Context(), c.ID, long, 3)
			require.NoError(t, err)
			if step == (Archived{}) {
				break
			}
			steps++
			require.LessOrEqual(t, step.Orders+step.Voids, int64(3))
			all.Orders, all.Voids, all.Fences = all.Orders+step.Orders, all.Voids+step.Voids, all.Fences+step.Fences
			during, err := booksOf(t.Context(), s, c.ID)
			require.NoError(t, err)
			require.Equal(t, before.Live, during.Live)
			require.Zero(t, during.Stale+during.BadState)
		}
		require.Equal(t, 3, steps)
		require.Equal(t, Archived{Orders: 6, Voids: 1, Fences: 5}, all, "user 1 has an order of the other sale")

		after, err := booksOf(t.Context(), s, c.ID)
		require.NoError(t, err)
		require.Zero(t, after.Voids)
		after.Voids, after.ByStatus[order.Void] = before.Voids, before.ByStatus[order.Void]
		require.Equal(t, before.Totals, after.Totals, "the audit counts them as before")
		_, err = s.Get(t.Context(), 2, 2)
		require.ErrorIs(t, err, order.ErrNotFound)
		o, err := s.Archived(t.Context(), 2, 2)
		require.NoError(t, err)
		require.Equal(t, []any{order.Paid, c.ID, "r2"}, []any{o.Status, o.CouponID, o.RequestID})
		_, err = s.Archived(t.Context(), 2, 3)
		require.ErrorIs(t, err, order.ErrNotFound, "somebody else's")
		left, err := s.Get(t.Context(), 50, 1)
		require.NoError(t, err)
		require.Equal(t, order.Pending, left.Status)
	})
}

func TestArchive_UnfinishedSaleOrOrder_IsKept(t *testing.T) {
	onBoth(t, func(t *testing.T, s *subject) {
		c := ended(t, s)
		long := begins.Add(24 * time.Hour)
		for name, alter := range map[string][2]string{
			"its shards are there": {"UPDATE coupons SET shards = 4 WHERE id = ?", "UPDATE coupons SET shards = 0 WHERE id = ?"},
			"it goes on": {
				"UPDATE coupons SET ends_at = '2036-01-01 00:00:00' WHERE id = ?",
				"UPDATE coupons SET ends_at = '2026-11-11 21:00:00' WHERE id = ?",
			},
			"a unit is owed": {
				"INSERT INTO stock_returns (order_id, coupon_id, user_id, shard, epoch, shards) VALUES (3, ?, 3, 0, 1, 0)",
				"DELETE FROM stock_returns WHERE coupon_id = ?",
			},
		} {
			raw(t, s, alter[0], c.ID)
			can, err := s.Coupons().Archivable(t.Context(), long, 0, 10)
			require.NoError(t, err)
			require.Empty(t, can, name)
			if name != "a unit is owed" {
				_, err = s.Archive(t.Context(), c.ID, long, 10)
				require.ErrorIs(t, err, coupon.ErrConflict, name)
			}
			raw(t, s, alter[1], c.ID)
		}

		raw(t, s, "UPDATE orders SET status = 'pending' WHERE id = 2")
		step, err := s.Archive(t.Context(), c.ID, long, 10)
		require.NoError(t, err)
		require.EqualValues(t, 5, step.Orders)
		step, err = s.Archive(t.Context(), c.ID, long, 10)
		require.NoError(t, err)
		require.Zero(t, step)
		o, err := s.Get(t.Context(), 2, 2)
		require.NoError(t, err)
		require.Equal(t, order.Pending, o.Status, "it waits for its payment")
		_, err = s.Coupons().Change(t.Context(), c.ID, func(c *coupon.Coupon) error {
			require.Equal(t, coupon.Ended, c.State, "nobody can give it another end")
			return nil
		})
		require.NoError(t, err)
	})
}

// A statement that names each row with an OR is planned in a time that grows with the cube of
// their number: for so many it took more than a minute.
func TestArchive_LongList_IsPlannedQuickly(t *testing.T) {
	const many = 4000
	s := migrated(t, Options{
		MySQL:     testservers.DSN(t) + "&readTimeout=60s", // of two, the last counts: a busy machine's disk may take some seconds
		TxTimeout: 20 * time.Second,
	})
	// The server ends a transaction that sends nothing for a second, and so many rows may take a busy
	// machine as long to read.
	again := func(do func() error) (err error) {
		for range 10 {
			if err = do(); !errors.Is(err, order.ErrUnavailable) {
				break
			}
		}
		return err
	}
	c := onSale(t, s, 2*many)
	raw(t, s, fmt.Sprintf(`INSERT INTO orders (id, coupon_id, user_id, slot, status, price_cents, request_id, shard, fence, created_at, expires_at)
		SELECT seq, %d, seq, 1, 'pending', 1, CONCAT('m', seq), 0, 1, '2020-01-01', '2020-01-01' FROM seq_1_to_%d`, c.ID, many))
	require.NoError(t, again(func() error {
		return s.InTx(t.Context(), func(ctx context.Context, tx order.Tx) error {
			expired, err := tx.Expire(ctx, begins, 0, many)
			if err == nil {
				require.Len(t, expired, many)
			}
			return err
		})
	}))
	raw(t, s, fmt.Sprintf("UPDATE coupons SET shards = 0, ends_at = '2020-01-02' WHERE id = %d", c.ID))
	var step Archived
	require.NoError(t, again(func() (err error) {
		step, err = s.Archive(t.Context(), c.ID, c.EndsAt, many)
		return err
	}))
	require.EqualValues(t, many, step.Orders)
}
