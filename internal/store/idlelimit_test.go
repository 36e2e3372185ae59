package store

import (
	"database/sql"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/platform/mysqlconn"
)

// An instance that is stopped in its transaction sends nothing more, and its
// connection stays: the row is free within two seconds all the same.
func TestIdleLimit_SilentTransaction_FreesItsRow(t *testing.T) {
	for name, mariaDB := range map[string]bool{"as on MariaDB": true, "as on MySQL": false} {
		t.Run(name, func(t *testing.T) {
			dsn := migratedDSN(t)
			s := opened(t, Options{MySQL: dsn})
			c := onSale(t, s, 5)
			config, err := driver.ParseDSN(dsn)
			require.NoError(t, err)
			config.Params = map[string]string{}
			setIdleLimit(config, mariaDB)
			connector, err := mysqlconn.NewConnector(config)
			require.NoError(t, err)
			stopped := sql.OpenDB(connector)
			t.Cleanup(func() { require.NoError(t, stopped.Close()) })
			tx, err := stopped.BeginTx(t.Context(), nil)
			require.NoError(t, err)
			_, err = tx.ExecContext(t.Context(), "UPDATE coupons SET stock = stock - 1 WHERE id = ?", c.ID)
			require.NoError(t, err)

			began := time.Now()
			placed(t, s, c, 1, 1)
			held := time.Since(began)
			t.Log("the row was held for", held)
			require.Less(t, held, 2*time.Second)
			require.Greater(t, held, 500*time.Millisecond, "an instance that is only slow keeps its transaction")
			require.Error(t, tx.Commit(), "when it goes on, its transaction is gone")
			stock, live := left(t, s, c)
			require.Equal(t, []int64{4, 1}, []int64{stock, live})
		})
	}
}

func TestIdleLimit_EverySession_IsEndedWhenSilent(t *testing.T) {
	s := onMariaDB(t)
	var seconds int
	require.NoError(t, s.pools[0].QueryRowContext(t.Context(), "SELECT @@session."+mariaDBIdleVariable).Scan(&seconds))
	require.Equal(t, 1, seconds)

	// A connection in the pool, outside of any transaction, is spared.
	conn, err := s.pools[0].Conn(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()
	time.Sleep(1500 * time.Millisecond) // the silence itself
	require.NoError(t, conn.PingContext(t.Context()))
}
