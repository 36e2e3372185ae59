package store

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// killing is work whose session is killed in the middle.
func killing(t *testing.T, s *subject, c coupon.Coupon) func(context.Context, order.Tx) error {
	return func(ctx context.Context, opened order.Tx) error {
		if err := opened.Insert(ctx, wish(c, 1, 1)); err != nil {
			return err
		}
		var id int64
		if err := opened.(tx).db.Raw("SELECT CONNECTION_ID()").Scan(&id).Error; err != nil {
			return err
		}
		raw(t, s, "KILL ?", id)
		return opened.TakeOne(ctx, c)
	}
}

func TestInTx_AnyFailure_IsAllOrNothing(t *testing.T) {
	broken := errors.New("broken")
	onEach(t, func(t *testing.T, s *subject) {
		c := onSale(t, s, 3)
		require.NoError(t, place(t.Context(), s, c, wish(c, 1, 1)))
		stock, live := left(t, s, c)
		require.Equal(t, []int64{2, 1}, []int64{stock, live}, "committed")

		runs := 0
		err := s.InTx(t.Context(), func(ctx context.Context, tx order.Tx) error {
			runs++
			require.NoError(t, placing(ctx, tx, c, wish(c, 2, 2)))
			return broken
		})
		require.ErrorIs(t, err, broken)
		require.Equal(t, 1, runs, "only what the database asks for is run again")
		stock, live = left(t, s, c)
		require.Equal(t, []int64{2, 1}, []int64{stock, live}, "rolled back")
	})
}

func TestInTx_Panic_LeavesNoTransactionOpen(t *testing.T) {
	onEach(t, func(t *testing.T, s *subject) {
		c := onSale(t, s, 3)
		require.PanicsWithValue(t, "bug", func() {
			_ = s.InTx(t.Context(), func(ctx context.Context, tx order.Tx) error {
				require.NoError(t, placing(ctx, tx, c, wish(c, 1, 1)))
				panic("bug")
			})
		})
		require.Zero(t, s.Pool().Stats().InUse)
		require.NoError(t, place(t.Context(), s, c, wish(c, 2, 2)), "the rows are free")
		stock, live := left(t, s, c)
		require.Equal(t, []int64{2, 1}, []int64{stock, live})
	})
}

func TestInTx_CallerLeaves_LeavesNothing(t *testing.T) {
	onEach(t, func(t *testing.T, s *subject) {
		c := onSale(t, s, 3)
		for name, leave := range map[string]func(ctx context.Context, tx order.Tx, cancel func()) error{
			"between two statements": func(ctx context.Context, tx order.Tx, cancel func()) error {
				require.NoError(t, tx.Insert(ctx, wish(c, 1, 1)))
				cancel()
				return tx.TakeOne(ctx, c)
			},
			"before the commit": func(ctx context.Context, tx order.Tx, cancel func()) error {
				require.NoError(t, placing(ctx, tx, c, wish(c, 1, 1)))
				cancel()
				return nil
			},
		} {
			ctx, cancel := context.WithCancel(t.Context())
			err := s.InTx(ctx, func(ctx context.Context, tx order.Tx) error { return leave(ctx, tx, cancel) })
			require.Error(t, err, name)
			require.Eventually(t, func() bool { return s.Pool().Stats().InUse == 0 }, patient, pollEvery, name)
			stock, live := left(t, s, c)
			require.Equal(t, []int64{3, 0}, []int64{stock, live}, name)
		}
		require.NoError(t, s.Void(t.Context(), wish(c, 1, 1)), "and the request can be given up")
	})
}

func TestInTx_Budget_EndsTransaction(t *testing.T) {
	s := onMariaDB(t)
	c := onSale(t, s, 3)
	holder := session(t, s, "SELECT id FROM coupons FOR UPDATE")
	s.txTimeout = 200 * time.Millisecond
	start := time.Now()
	require.ErrorIs(t, place(t.Context(), s, c, wish(c, 1, 1)), order.ErrUnavailable)
	require.Less(t, time.Since(start), 2*time.Second, "and is not run again: the budget is spent")
	require.NoError(t, holder.Rollback())

	s.txTimeout = patient
	placed(t, s, c, 2, 2) // nobody has kept the row
	stock, live := left(t, s, c)
	require.Equal(t, []int64{2, 1}, []int64{stock, live})
}

func TestInTx_BudgetSpentWaiting_Ends(t *testing.T) {
	onBoth(t, func(t *testing.T, s *subject) {
		s.pools[0].SetMaxOpenConns(1)
		c := onSale(t, s, 3)
		s.txTimeout = 100 * time.Millisecond
		other := session(t, s)
		require.ErrorIs(t, place(t.Context(), s, c, wish(c, 1, 1)), order.ErrUnavailable)
		require.NoError(t, other.Rollback())
		s.txTimeout = patient
		placed(t, s, c, 1, 1)
	})
}

// The level is not in @@tx_isolation, which is the session's and stays
// what it was. What a transaction sees tells.
func TestInTx_JustCommitted_IsSeen(t *testing.T) {
	s := onMariaDB(t)
	c := onSale(t, s, 3)
	var conns [2]*sql.Conn
	s.pools[0].SetMaxOpenConns(len(conns))
	for i := range conns { // as behind a proxy that drops what a session has set
		var err error
		conns[i], err = s.pools[0].Conn(t.Context())
		require.NoError(t, err)
		_, err = conns[i].ExecContext(t.Context(), "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
		require.NoError(t, err)
	}
	for _, conn := range conns {
		require.NoError(t, conn.Close())
	}
	err := s.InTx(t.Context(), func(ctx context.Context, opened order.Tx) error {
		db := opened.(tx).db
		var before, after int
		var level, session string
		require.NoError(t, db.Raw("SELECT COUNT(*) FROM orders").Scan(&before).Error)
		require.NoError(t, place(ctx, s, c, wish(c, 1, 1)), "another transaction commits")
		require.NoError(t, db.Raw("SELECT COUNT(*) FROM orders").Scan(&after).Error)
		require.Equal(t, []int{0, 1}, []int{before, after})

		require.NoError(t, opened.Insert(ctx, wish(c, 2, 2)))
		require.NoError(t, db.Raw("SELECT trx_isolation_level FROM information_schema.innodb_trx WHERE trx_mysql_thread_id = CONNECTION_ID()").Scan(&level).Error)
		require.Equal(t, "READ COMMITTED", level)
		require.NoError(t, db.Raw("SELECT @@tx_isolation").Scan(&session).Error)
		require.Equal(t, "REPEATABLE-READ", session, "the level is this transaction's alone")
		return nil
	})
	require.NoError(t, err)
}
