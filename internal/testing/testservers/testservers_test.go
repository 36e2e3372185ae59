package testservers_test

import (
	"database/sql"
	"testing"

	_ "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/testservers"
)

func TestMain(m *testing.M) { testservers.Main(m) }

func TestDatabase_EachTest_IsEmptyAndDroppedAfterwards(t *testing.T) {
	testservers.Need(t, testservers.Servers)
	var dsns []string
	for _, name := range []string{"first", "second"} {
		t.Run(name, func(t *testing.T) {
			dsns = append(dsns, testservers.DSN(t))
			db := open(t, dsns[len(dsns)-1])
			_, err := db.ExecContext(t.Context(), "CREATE TABLE words (word TEXT)")
			require.NoError(t, err, "the other test's table would be in the way")
		})
	}
	require.NotEqual(t, dsns[0], dsns[1])
	for _, dsn := range dsns {
		require.ErrorContains(t, open(t, dsn).PingContext(t.Context()), "Unknown database")
	}
}

func TestDatabase_Session_IsDurableInUTF8AndUTC(t *testing.T) {
	db := open(t, testservers.DSN(t))
	for name, want := range map[string]string{
		"@@innodb_flush_log_at_trx_commit": "1",
		"@@character_set_database":         "utf8mb4",
		"@@character_set_connection":       "utf8mb4",
	} {
		var got string
		require.NoError(t, db.QueryRowContext(t.Context(), "SELECT "+name).Scan(&got))
		assert.Equal(t, want, got, name)
	}
}

func TestSharedServers_ManyTests_StartOnce(t *testing.T) {
	m, r := testservers.MariaDB(t), testservers.Redis(t)
	assert.Same(t, m, testservers.MariaDB(t))
	assert.Same(t, r, testservers.Redis(t))
}

func TestPrivateServer_OneTest_IsSeparateAndEndsWithIt(t *testing.T) {
	private := testservers.Redis(t)
	t.Run("with a private server", func(t *testing.T) {
		private = testservers.NewRedis(t)
		assert.NotEqual(t, testservers.Redis(t).Addr(), private.Addr())
		assert.NotZero(t, private.PID())
	})
	assert.Zero(t, private.PID())
}

func open(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("mysql", dsn)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}
