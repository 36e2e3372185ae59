package store

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

func TestTakeStock_SeveralCoupons_EachIsReducedOrRefuses(t *testing.T) {
	inHall(t, func(t *testing.T, h *hall) {
		want, units := map[int64]error{}, map[int64]int64{}
		id := int64(0)
		buy := func(c coupon.Coupon, n int, err error) {
			for range n {
				id++
				h.come(t.Context(), c, wish(c, id, id))
				want[id] = err
				if err == nil {
					units[c.ID]++
				}
			}
		}
		var all []coupon.Coupon
		for range 6 {
			all = append(all, onSale(t, h.subject, 50))
		}
		few, none := onSale(t, h.subject, 3), onSale(t, h.subject, 1)
		placed(t, h.alone(), none, 900, 900)
		units[none.ID]++
		// Its stock has been loaded again: some know, and the others know an epoch that
		// is over, or that has not begun for this database.
		raw(t, h.subject, "UPDATE coupons SET epoch = 5 WHERE id = ?", all[3].ID)
		old, now, next := all[3], all[3], all[3]
		old.Epoch, now.Epoch, next.Epoch = 4, 5, 6
		lost := all[0]
		lost.ID = 999

		buy(few, 2, nil)
		buy(all[5], 5, nil)
		buy(old, 3, order.ErrStaleEpoch)
		buy(now, 4, nil)
		buy(lost, 2, coupon.ErrNotFound)
		buy(all[0], 1, nil)
		buy(few, 1, nil)
		buy(next, 1, order.ErrStaleEpoch)
		buy(few, 2, coupon.ErrSoldOut)
		buy(none, 2, coupon.ErrSoldOut)
		buy(all[1], 2, nil)
		for id, err := range h.open() {
			require.ErrorIs(t, err, want[id], id)
		}
		require.Equal(t, []int{15}, h.groups(), "in one transaction, after the others left")
		for _, c := range append(all, few, none) {
			stock, live := left(t, h.subject, c)
			require.Equal(t, []int64{c.Total - units[c.ID], units[c.ID]}, []int64{stock, live}, "coupon %d", c.ID)
		}
	})
}

// The row refused, and when it was asked why, units had come back.
func TestAssignRefusals_UnitCameBack_ReturnsErrRetry(t *testing.T) {
	inHall(t, func(t *testing.T, h *hall) {
		c := onSale(t, h.subject, 1)
		a := attempt(c, wish(c, 1, 1))
		require.ErrorIs(t, h.g.assignRefusals(t.Context(), []*order.Attempt{a}), errRetry)
		require.NoError(t, a.Err)
	})
}

// Two instances that take of the same coupons wait for each other and do not deadlock,
// if both lock the rows in the same order. Rows of other coupons are not for them.
func TestTakeStock_CouponRows_AreLockedInIDOrder(t *testing.T) {
	s := onMariaDB(t)
	first, other, held, last := onSale(t, s, 9), onSale(t, s, 9), onSale(t, s, 9), onSale(t, s, 9)
	h := newHall(t, s)
	for i, c := range []coupon.Coupon{last, held, first} {
		h.come(t.Context(), c, wish(c, int64(i+1), int64(i+1)))
	}
	holder, elsewhere := session(t, s), session(t, s)
	require.NoError(t, locked(t.Context(), holder, held))
	require.NoError(t, locked(t.Context(), elsewhere, other))
	var answers map[int64]error
	var wait sync.WaitGroup
	untilItWaits(t, s, func() { wait.Go(func() { answers = h.open() }) })
	asker := session(t, s)
	require.True(t, busy(t, asker, first), "it is before the one that is waited for")
	require.False(t, busy(t, asker, last), "its turn comes later")
	require.NoError(t, asker.Rollback())
	require.NoError(t, holder.Rollback())
	wait.Wait()
	for id, err := range answers {
		require.NoError(t, err, id)
	}
	require.Equal(t, []int{3}, h.groups(), "while nobody could have locked what nobody buys")
	require.NoError(t, elsewhere.Rollback())
}

// locked locks a coupon's row, and is what the database says.
func locked(ctx context.Context, tx *sql.Tx, c coupon.Coupon) error {
	var id int64
	return tx.QueryRowContext(ctx, "SELECT id FROM coupons WHERE id = ? FOR UPDATE NOWAIT", c.ID).Scan(&id)
}

// busy reports whether another transaction has locked a coupon's row.
func busy(t *testing.T, tx *sql.Tx, c coupon.Coupon) bool {
	t.Helper()
	err := locked(t.Context(), tx, c)
	if refused, ok := errors.AsType[*mysql.MySQLError](err); ok {
		require.Equal(t, uint16(1205), refused.Number)
		return true
	}
	require.NoError(t, err)
	return false
}

func TestTakeStock_TwoInstances_DoNotDeadlock(t *testing.T) {
	s := onMariaDB(t)
	var all []coupon.Coupon
	for range 8 {
		all = append(all, onSale(t, s, 1000))
	}
	const rounds = 15
	for round := range int64(rounds) {
		one, two := newHall(t, s), newHall(t, s)
		for i, c := range all {
			id := 100*(round+1) + int64(i)
			one.come(t.Context(), c, wish(c, id, id))
			c = all[len(all)-1-i]
			two.come(t.Context(), c, wish(c, id+50, id+50))
		}
		var answers [2]map[int64]error
		together(
			func() error { answers[0] = one.open(); return nil },
			func() error { answers[1] = two.open(); return nil },
		)
		for _, some := range answers {
			for id, err := range some {
				require.NoError(t, err, id)
			}
		}
		require.Equal(t, []int{8}, one.groups(), "nobody had to run alone")
		require.Equal(t, []int{8}, two.groups(), "nobody had to run alone")
	}
	for _, c := range all {
		stock, live := left(t, s, c)
		require.Equal(t, []int64{1000 - 2*rounds, 2 * rounds}, []int64{stock, live})
	}
}
