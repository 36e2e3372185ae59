package store

import (
	"context"
	"database/sql"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/order"
)

func TestRetry_Deadlock_RunsWholeTransactionAgain(t *testing.T) {
	s := onMariaDB(t)
	one, two := onSale(t, s, 5), onSale(t, s, 5)
	var met sync.WaitGroup
	met.Add(2)
	var runs [2]int
	crossing := func(me int, ids ...int64) func() error {
		return func() error {
			return s.InTx(t.Context(), func(ctx context.Context, tx order.Tx) error {
				runs[me]++
				first, second := one, two
				if me == 1 {
					first, second = two, one
				}
				if err := placing(ctx, tx, first, wish(first, ids[0], ids[0])); err != nil {
					return err
				}
				if runs[me] == 1 { // each has a row that the other wants
					met.Done()
					met.Wait()
				}
				return placing(ctx, tx, second, wish(second, ids[1], ids[1]))
			})
		}
	}
	for _, err := range together(crossing(0, 1, 2), crossing(1, 3, 4)) {
		require.NoError(t, err)
	}
	require.Equal(t, 3, runs[0]+runs[1], "the victim once more, the other not")
	for _, c := range []int64{one.ID, two.ID} {
		b, err := booksOf(t.Context(), s, c)
		require.NoError(t, err)
		require.Equal(t, []int64{3, 2}, []int64{b.Coupon.Left, b.Live}, "no half of a transaction is there twice")
	}
}

func TestInTx_RowStaysLocked_TriesThreeTimes(t *testing.T) {
	s := onMariaDB(t, "innodb_lock_wait_timeout=1")
	c := onSale(t, s, 5)
	holder := session(t, s, "SELECT id FROM coupons FOR UPDATE")
	runs := 0
	err := s.InTx(t.Context(), func(ctx context.Context, tx order.Tx) error {
		runs++
		return placing(ctx, tx, c, wish(c, 1, 1))
	})
	require.ErrorIs(t, err, order.ErrUnavailable)
	require.ErrorContains(t, err, "1205")
	require.Equal(t, 3, runs)
	require.NoError(t, holder.Rollback())
	stock, live := left(t, s, c)
	require.Equal(t, []int64{5, 0}, []int64{stock, live}, "the order was inserted before the wait, three times")
}

func TestRetry_LockTimeout_SucceedsAtNextTry(t *testing.T) {
	s := onMariaDB(t, "innodb_lock_wait_timeout=1")
	c := onSale(t, s, 5)
	holder := session(t, s, "SELECT id FROM coupons FOR UPDATE")
	runs := 0
	err := s.InTx(t.Context(), func(ctx context.Context, tx order.Tx) error {
		if runs++; runs == 2 {
			require.NoError(t, holder.Rollback())
		}
		return placing(ctx, tx, c, wish(c, 1, 1))
	})
	require.NoError(t, err)
	require.Equal(t, 2, runs)
	stock, live := left(t, s, c)
	require.Equal(t, []int64{4, 1}, []int64{stock, live})
}

// A server may be set to refuse an update of what the snapshot has not seen. At READ
// COMMITTED there is no such thing; at REPEATABLE READ it is a try like another.
func TestRetry_RowChangedSinceSnapshot_SucceedsAtNextTry(t *testing.T) {
	for name, tc := range map[string]struct {
		level sql.IsolationLevel
		runs  int
	}{
		"read committed":  {sql.LevelReadCommitted, 1},
		"repeatable read": {sql.LevelRepeatableRead, 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := onMariaDB(t, "innodb_snapshot_isolation=ON")
			s.isolation = tc.level
			c := onSale(t, s, 5)
			runs := 0
			err := s.InTx(t.Context(), func(ctx context.Context, tx order.Tx) error {
				runs++
				_, err := tx.FreeSlot(ctx, c.ID, 1, 1) // takes the snapshot
				require.NoError(t, err)
				if runs == 1 {
					raw(t, s, "UPDATE coupons SET title = 'Changed'")
				}
				return placing(ctx, tx, c, wish(c, 1, 1))
			})
			require.NoError(t, err)
			require.Equal(t, tc.runs, runs)
			stock, live := left(t, s, c)
			require.Equal(t, []int64{4, 1}, []int64{stock, live})
		})
	}
}

func TestInTx_CallerCancels_DoesNotRetry(t *testing.T) {
	s := onMariaDB(t, "innodb_lock_wait_timeout=1")
	c := onSale(t, s, 5)
	session(t, s, "SELECT id FROM coupons FOR UPDATE")
	ctx, cancel := context.WithCancel(t.Context())
	runs := 0
	err := s.InTx(ctx, func(ctx context.Context, tx order.Tx) error {
		runs++
		err := placing(ctx, tx, c, wish(c, 1, 1))
		cancel()
		return err
	})
	require.Error(t, err)
	require.Equal(t, 1, runs)
}
