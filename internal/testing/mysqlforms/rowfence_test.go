package mysqlforms

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/testservers"
)

// rowLock counts with a connection of its own.
func rowLock(t testing.TB, db *sql.DB) *RowLock {
	t.Helper()
	var database string
	require.NoError(t, db.QueryRowContext(context.Background(), "SELECT DATABASE()").Scan(&database))
	return NewRowLock(db, pool(t, testservers.MariaDB(t).DSN(database), 1))
}

// A server's clock that was set back is one that is behind the counter.
func TestRowFence_RollbackOrClockSetBack_StillGrows(t *testing.T) {
	db := notes(t, 4)
	r := rowLock(t, db)
	undone := errors.New("undone")
	for name, undo := range map[string]func(cancel func()) error{
		"by an error":                 func(func()) error { return undone },
		"by the end of its context":   func(cancel func()) error { cancel(); return nil },
		"by a panic":                  func(func()) error { panic(undone) },
		"by nothing: it is committed": func(func()) error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			key := rand.Text()
			_, err := db.ExecContext(t.Context(), "INSERT INTO lock_fences VALUES (?, 1 << 60)", key)
			require.NoError(t, err)
			var first, second uint64
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			func() {
				defer func() { _ = recover() }()
				_ = r.Do(ctx, key, func(_ context.Context, _ *Tx, fence uint64) error {
					first = fence
					return undo(cancel)
				})
			}()
			require.Greater(t, first, uint64(1<<60))
			require.NoError(t, r.Do(t.Context(), key, func(_ context.Context, _ *Tx, fence uint64) error {
				second = fence
				return nil
			}))
			require.Greater(t, second, first)
		})
	}
}
