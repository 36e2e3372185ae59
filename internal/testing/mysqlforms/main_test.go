package mysqlforms

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/lock/mysqllock"
	"example.com/seckill/internal/store"
	"example.com/seckill/internal/testing/apptest"
	"example.com/seckill/internal/testing/testservers"
)

func TestMain(m *testing.M) { testservers.Main(m) }

// migrated returns the DSN of a new database with the program's tables.
func migrated(t testing.TB) string {
	t.Helper()
	return testservers.MigratedDSN(t, func(ctx context.Context, dsn string) error {
		return apptest.Migrate(ctx, store.Options{MySQL: dsn})
	})
}

func pool(t testing.TB, dsn string, conns int) *sql.DB {
	t.Helper()
	db, err := mysqllock.Open(dsn, conns)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// fences returns a store that counts the fences of a Named.
func fences(t testing.TB, dsn string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{MySQL: dsn, MaxOpen: 16, MaxIdle: 16, TxTimeout: 5 * time.Second})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// at returns the DSN of the same database through another address.
func at(t testing.TB, dsn, addr string) string {
	t.Helper()
	c, err := mysql.ParseDSN(dsn)
	require.NoError(t, err)
	c.Addr = addr
	return c.FormatDSN()
}
