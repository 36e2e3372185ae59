package mysqllock

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"seckill/internal/lock"
	"seckill/internal/lock/locktest"
	"seckill/internal/servers/testservers"
	"seckill/internal/store"
)

func TestMain(m *testing.M) { testservers.Main(m) }

func TestLeaseRow(t *testing.T) {
	dsn := migrated(t)
	observer := pool(t, dsn, 4)
	ctx := context.Background()
	row := func(t testing.TB, key string) (token string, left time.Duration) {
		var us int64
		err := observer.QueryRowContext(ctx, `SELECT token, TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), expires_at)
			FROM lock_leases WHERE name = ? AND expires_at > UTC_TIMESTAMP(6)`, key).Scan(&token, &us)
		if !errors.Is(err, sql.ErrNoRows) {
			require.NoError(t, err)
		}
		return token, time.Duration(us) * time.Microsecond
	}
	exec := func(t testing.TB, statement string, args ...any) {
		_, err := observer.ExecContext(ctx, statement, args...)
		require.NoError(t, err)
	}
	locktest.Run(t, locktest.Harness{
		Server: testservers.MariaDB(t).Addr(),
		Dial: func(t testing.TB, addr string) lock.Backend {
			return NewLeaseRow(pool(t, at(t, dsn, addr), 8))
		},
		Value:     func(t testing.TB, key string) string { token, _ := row(t, key); return token },
		Remaining: func(t testing.TB, key string) time.Duration { _, left := row(t, key); return left },
		Overwrite: func(t testing.TB, key string) {
			exec(t, "UPDATE lock_leases SET token = 'stranger', fence = fence + 1, expires_at = UTC_TIMESTAMP(6) + INTERVAL 1 HOUR WHERE name = ?", key)
		},
		Delete: func(t testing.TB, key string) { exec(t, "DELETE FROM lock_leases WHERE name = ?", key) },
		Flush:  func(t testing.TB) { exec(t, "DELETE FROM lock_leases") },
		// No Wakes: a database sends no messages.
		Capabilities: locktest.Capabilities{Fence: true, FenceOutlivesData: true, Raises: true, TellsTaken: true},
	})
}

// migrated is the DSN of a database with the program's tables.
func migrated(t testing.TB) string {
	t.Helper()
	dsn := testservers.DSN(t)
	s, err := store.Open(t.Context(), store.Options{MySQL: dsn, MaxOpen: 2, TxTimeout: 5 * time.Second})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	_, err = s.Migrate(t.Context())
	require.NoError(t, err)
	return dsn
}

func pool(t testing.TB, dsn string, conns int) *sql.DB {
	t.Helper()
	db, err := Open(dsn, conns)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// at is the same database through another address.
func at(t testing.TB, dsn, addr string) string {
	t.Helper()
	c, err := mysql.ParseDSN(dsn)
	require.NoError(t, err)
	c.Addr = addr
	return c.FormatDSN()
}
