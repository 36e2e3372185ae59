package mysqlconn_test

import (
	"database/sql"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/platform/mysqlconn"
	"example.com/seckill/internal/testing/testservers"
)

func TestMain(m *testing.M) { testservers.Main(m) }

func open(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	config, err := mysql.ParseDSN(dsn)
	require.NoError(t, err)
	connector, err := mysqlconn.NewConnector(config)
	require.NoError(t, err)
	db := sql.OpenDB(connector)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

func TestNewConnector_StrangeDefaults_SessionHasTheProgramsSettings(t *testing.T) {
	dsn := testservers.NewMariaDB(t).DSN("")
	root := open(t, dsn)
	for _, one := range []string{
		"autocommit = 0", "completion_type = 1", "sql_safe_updates = 1", "sql_select_limit = 1", "max_join_size = 1", "foreign_key_checks = 0",
		"unique_checks = 0", "sql_mode = 'ORACLE'", "time_zone = '+09:00'", "wait_timeout = 1", "tx_isolation = 'SERIALIZABLE'", "tx_read_only = 1",
	} {
		_, err := root.ExecContext(t.Context(), "SET GLOBAL "+one)
		require.NoError(t, err, one)
	}
	db := open(t, dsn+"&Wait_Timeout=77")
	shown := func(name string) (value string) {
		t.Helper()
		var same string
		require.NoError(t, db.QueryRowContext(t.Context(), "SHOW SESSION VARIABLES LIKE '"+name+"'").Scan(&same, &value), name)
		return value
	}
	for _, s := range mysqlconn.Settings() {
		if s.Shown != "" {
			require.Equal(t, s.Shown, shown(s.Name), s.Name)
		}
	}
	for name, want := range map[string]string{
		"sql_mode": "STRICT_ALL_TABLES", "time_zone": "+00:00", "tx_isolation": "READ-COMMITTED", "tx_read_only": "OFF",
		"wait_timeout": "77", "character_set_connection": "utf8mb4",
	} {
		require.Equal(t, want, shown(name), name)
	}
}
