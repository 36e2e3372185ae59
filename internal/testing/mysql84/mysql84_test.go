package mysql84_test

import (
	"database/sql"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/mysql84"
	"example.com/seckill/internal/testing/testservers"
)

func TestMain(m *testing.M) { testservers.Main(m) }

func open(t *testing.T) (*mysql84.Proxy, *sql.DB) {
	t.Helper()
	p, err := mysql84.New(t.Context(), testservers.DSN(t))
	require.NoError(t, err)
	db, err := sql.Open("mysql", p.DSN()+"&multiStatements=true&interpolateParams=true")
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, db.Close())
		require.NoError(t, p.Close())
	})
	return p, db
}

func TestProxy_StatementOfMariaDBOnly_AnswersMySQLsError(t *testing.T) {
	p, db := open(t)
	wrong := map[string]uint16{
		"SHOW SLAVE STATUS":                                   1064,
		"SHOW MASTER STATUS":                                  1064,
		"DELETE FROM t WHERE id = 1 RETURNING id":             1064,
		"SET STATEMENT max_statement_time = 1 FOR SELECT 1":   1064,
		"SELECT 1; SELECT NEXTVAL(s)":                         1064,
		"SELECT /*M!100100 1 */":                              1064,
		"CREATE TABLE t (rank INT)":                           1064,
		"SELECT 1 AS manual":                                  1064,
		"SELECT NVL(1, 2)":                                    1305,
		"SET idle_write_transaction_timeout = 1":              1193,
		"SET autocommit = 1, tx_isolation = 'READ-COMMITTED'": 1193,
		"SELECT @@session.tx_isolation":                       1193,
	}
	for statement, number := range wrong {
		_, err := db.ExecContext(t.Context(), statement)
		var refused *mysql.MySQLError
		require.ErrorAs(t, err, &refused, statement)
		require.Equal(t, number, refused.Number, statement)
	}
	require.Len(t, p.Refused(), len(wrong))
	require.NoError(t, db.PingContext(t.Context()), "the connection is as good as before")
}

func TestProxy_StatementOfBoth_ReachesTheServer(t *testing.T) {
	p, db := open(t)
	var version string
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT VERSION()").Scan(&version))
	require.NotContains(t, version, "MariaDB")
	for _, statement := range []string{
		"CREATE TABLE t (id BIGINT NOT NULL, `rank` VARCHAR(99) NULL, PRIMARY KEY (id))",
		"INSERT INTO t (id, `rank`) VALUES (1, 'RETURNING; SLAVE()') ON DUPLICATE KEY UPDATE `rank` = VALUES(`rank`)",
		"START TRANSACTION; SELECT id FROM t WHERE id = 1 FOR UPDATE; COMMIT",
		"SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE",
		"SET max_execution_time = 0, autocommit = 1",
		"SHOW REPLICA STATUS -- of MASTER",
	} {
		_, err := db.ExecContext(t.Context(), statement)
		require.NoError(t, err, statement)
	}
	prepared, err := db.PrepareContext(t.Context(), "SELECT id FROM t WHERE `rank` = ?")
	require.NoError(t, err)
	defer func() { require.NoError(t, prepared.Close()) }()
	var id int
	require.NoError(t, prepared.QueryRowContext(t.Context(), "RETURNING; SLAVE()").Scan(&id))
	require.Empty(t, p.Refused())
}
