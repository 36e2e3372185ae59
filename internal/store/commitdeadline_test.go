package store

import (
	"context"
	"database/sql/driver"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/order"
	"example.com/seckill/internal/testing/testservers"
)

// The driver would wait for the server's answer until the readTimeout, which is 5 s.
func TestCommit_Stalled_WaitsNoLongerThanItsTransaction(t *testing.T) {
	for _, way := range []string{"single", "group"} {
		t.Run(way, func(t *testing.T) {
			m := testservers.NewMariaDB(t) // the whole of it stalls
			name, err := m.CreateDatabase(t.Context())
			require.NoError(t, err)
			direct := migrated(t, Options{MySQL: m.DSN(name)})
			s := opened(t, Options{MySQL: m.DSN(name), TxTimeout: time.Second})
			if way == "group" {
				s, _ = s.grouped(CommitOptions{})
			}
			c := onSale(t, s, 5)
			backup := session(t, direct)
			var stalled time.Time
			err = placeAnd(t.Context(), s, c, wish(c, 1, 1), func(context.Context) error {
				for _, statement := range []string{"BACKUP STAGE START", "BACKUP STAGE BLOCK_COMMIT"} {
					_, err := backup.ExecContext(t.Context(), statement)
					require.NoError(t, err)
				}
				stalled = time.Now()
				return nil
			})
			took := time.Since(stalled)
			require.ErrorIs(t, err, order.ErrCommitUnknown)
			require.Less(t, took, 1500*time.Millisecond)
			require.Zero(t, s.Pool().Stats().InUse, "the connection is given up")
			require.Zero(t, s.Pool().Stats().Idle, "and not for others")
			_, err = backup.ExecContext(t.Context(), "BACKUP STAGE END")
			require.NoError(t, err)
			require.NoError(t, backup.Rollback())
			require.ErrorIs(t, decided(t, direct, wish(c, 1, 1)), order.ErrDuplicate)
			left(t, direct, c)
		})
	}
}

func TestInTx_DeadlineExceeded_DiscardsConnection(t *testing.T) {
	s := onMariaDB(t)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	err := s.InTx(ctx, func(ctx context.Context, tx order.Tx) error {
		if _, err := tx.FreeSlot(ctx, 1, 1, 1); err != nil { // so that it has begun
			return err
		}
		<-ctx.Done()
		return nil
	})
	require.ErrorIs(t, err, order.ErrCommitUnknown)
	require.Eventually(t, func() bool { return s.Pool().Stats().InUse == 0 }, patient, pollEvery)
	var open int
	require.NoError(t, s.write.Raw("SELECT @@in_transaction").Scan(&open).Error)
	require.Zero(t, open)
}

// interrupted is a connection whose transaction cannot be ended.
type interrupted struct {
	driverConn

	closed bool
}

func (*interrupted) ExecContext(context.Context, string, []driver.NamedValue) (driver.Result, error) {
	return nil, &mysql.MySQLError{Number: queryInterrupted}
}

func (c *interrupted) Close() error { c.closed = true; return nil }

// The next user of the connection would be in the transaction of another, and might read there an order that is
// not committed.
func TestTransaction_EndInterrupted_ConnectionLeavesThePool(t *testing.T) {
	for name, end := range map[string]func(deadlineTx) error{"commit": deadlineTx.Commit, "rollback": deadlineTx.Rollback} {
		server := &interrupted{}
		err := end(deadlineTx{conn: &deadlineConn{driverConn: server}})
		require.ErrorIs(t, err, driver.ErrBadConn, name)
		require.True(t, server.closed, name)
	}
}
