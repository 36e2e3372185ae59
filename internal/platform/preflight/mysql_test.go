package preflight_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/platform/clock"
	"example.com/seckill/internal/platform/mysqlconn"
	"example.com/seckill/internal/platform/preflight"
	"example.com/seckill/internal/store"
	"example.com/seckill/internal/testing/mysql84"
	"example.com/seckill/internal/testing/testservers"
	"example.com/seckill/internal/tools/servers"
)

func lookAtMySQL(t *testing.T, db *sql.DB) *preflight.Findings {
	t.Helper()
	var f preflight.Findings
	require.NoError(t, f.MySQL(t.Context(), db, 70))
	return &f
}

func open(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("mysql", dsn)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func migrate(t *testing.T, dsn string) {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{MySQL: dsn, MaxOpen: 2, MaxIdle: 2, TxTimeout: time.Second})
	require.NoError(t, err)
	_, err = s.Migrate(t.Context())
	require.NoError(t, err)
	require.NoError(t, s.Close())
}

func TestMySQLCheck_GoodServer_Passes(t *testing.T) {
	dsn := testservers.DSN(t)
	db := open(t, dsn)
	requireFound(t, lookAtMySQL(t, db), "schema", preflight.Refused, "seckill migrate")
	migrate(t, dsn)
	f := lookAtMySQL(t, db)
	require.Empty(t, f.Of(preflight.Warning, preflight.Refused))
	for _, name := range []string{"role", "durability", "isolation", "connections", "rights"} {
		requireFound(t, f, name, preflight.Fine)
	}
	tables := 0
	require.NoError(t, db.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM information_schema.tables
		WHERE table_schema = DATABASE() AND table_name NOT IN ('goose_db_version', 'coupon_stock')`).Scan(&tables))
	requireFound(t, f, "rights", preflight.Fine, fmt.Sprintf("all %d tables", tables))
}

func TestMySQL_UnsafeSetting_NamesFinding(t *testing.T) {
	m := testservers.NewMariaDB(t, servers.Set("log-bin", "log"), servers.Set("binlog-format", "MIXED"), servers.Set("sync-binlog", "1"))
	name, err := m.CreateDatabase(t.Context())
	require.NoError(t, err)
	dsn := m.DSN(name)
	migrate(t, dsn)
	db := open(t, dsn)
	do := func(statement string) {
		t.Helper()
		_, err := db.ExecContext(t.Context(), statement)
		require.NoError(t, err)
	}
	anew := func() *sql.DB { // what is set globally is so for sessions that begin after it
		db := open(t, dsn)
		t.Cleanup(func() { _ = db.Close() })
		return db
	}
	require.Empty(t, lookAtMySQL(t, db).Of(preflight.Warning, preflight.Refused))

	do("SET GLOBAL innodb_flush_log_at_trx_commit = 2")
	requireFound(t, lookAtMySQL(t, db), "durability", preflight.Warning, "innodb_flush_log_at_trx_commit is 2")
	do("SET GLOBAL innodb_flush_log_at_trx_commit = 1")
	do("SET GLOBAL sync_binlog = 0")
	requireFound(t, lookAtMySQL(t, db), "durability", preflight.Warning, "sync_binlog is 0")
	do("SET GLOBAL sync_binlog = 1")

	do("SET GLOBAL rpl_semi_sync_master_enabled = ON")
	requireFound(t, lookAtMySQL(t, db), "replication", preflight.Warning, "rpl_semi_sync_master_timeout is 10000 ms")
	do("SET GLOBAL rpl_semi_sync_master_timeout = 18446744073709551615")
	requireFound(t, lookAtMySQL(t, db), "replication", preflight.Warning, "wait_point is AFTER_COMMIT")
	do("SET GLOBAL rpl_semi_sync_master_wait_point = AFTER_SYNC")
	requireFound(t, lookAtMySQL(t, db), "replication", preflight.Fine)
	do("SET GLOBAL rpl_semi_sync_master_enabled = OFF")

	do("SET GLOBAL binlog_format = 'STATEMENT'")
	statements := lookAtMySQL(t, anew())
	requireFound(t, statements, "isolation", preflight.Refused, "binlog_format is STATEMENT")
	do("SET GLOBAL binlog_format = 'MIXED'")

	do("SET GLOBAL max_connections = 60")
	requireFound(t, lookAtMySQL(t, db), "connections", preflight.Refused, "max_connections is 60", "mysql.max_open")
	do("SET GLOBAL max_connections = 71")
	requireFound(t, lookAtMySQL(t, db), "connections", preflight.Warning, "max_connections is 71")
	do("SET GLOBAL max_connections = 500")

	do("CREATE USER few IDENTIFIED BY 'pw' WITH MAX_USER_CONNECTIONS 30")
	do("GRANT ALL ON " + name + ".* TO few")
	few, err := mysql.ParseDSN(dsn)
	require.NoError(t, err)
	few.User, few.Passwd = "few", "pw"
	requireFound(t, lookAtMySQL(t, open(t, few.FormatDSN())), "connections", preflight.Refused,
		"max_user_connections of the account is 30", "the account's limit")

	do("CREATE USER app IDENTIFIED BY 'pw'")
	config, err := mysql.ParseDSN(dsn)
	require.NoError(t, err)
	config.User, config.Passwd = "app", "pw"
	for grant, lacking := range map[string]string{
		"SELECT":                         "INSERT on coupons",
		"SELECT, INSERT, UPDATE":         "DELETE on orders",
		"SELECT, INSERT, UPDATE, DELETE": "",
	} {
		do("GRANT " + grant + " ON " + name + ".* TO app")
		f := lookAtMySQL(t, open(t, config.FormatDSN()))
		if lacking == "" {
			requireFound(t, f, "rights", preflight.Fine)
		} else {
			requireFound(t, f, "rights", preflight.Refused, lacking, "GRANT SELECT, INSERT, UPDATE, DELETE")
			require.NotContains(t, f.Err().Error(), "pw")
		}
		do("REVOKE " + grant + " ON " + name + ".* FROM app")
	}

	do("SET GLOBAL read_only = 1")
	requireFound(t, lookAtMySQL(t, db), "role", preflight.Refused, "read_only is ON", "mysql.dsn")
	do("SET GLOBAL read_only = 0")
	do("CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = 1, MASTER_USER = 'nobody'")
	do("SET GLOBAL server_id = 7")
	do("START SLAVE SQL_THREAD")
	requireFound(t, lookAtMySQL(t, db), "role", preflight.Refused, "replica of 127.0.0.1:1")
	do("STOP SLAVE")
	requireFound(t, lookAtMySQL(t, db), "role", preflight.Fine)
}

func TestMySQL_DialectOfMySQL84_FindsReplicaByTheNewWords(t *testing.T) {
	m := testservers.NewMariaDB(t, servers.Set("server-id", "7"))
	name, err := m.CreateDatabase(t.Context())
	require.NoError(t, err)
	p, err := mysql84.New(t.Context(), m.DSN(name))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	migrate(t, p.DSN())
	through, direct := open(t, p.DSN()), open(t, m.DSN(name))
	requireFound(t, lookAtMySQL(t, through), "role", preflight.Fine, "it is no replica")
	for _, statement := range []string{
		"CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = 1, MASTER_USER = 'nobody'", "START SLAVE SQL_THREAD",
	} {
		_, err := direct.ExecContext(t.Context(), statement)
		require.NoError(t, err)
	}
	requireFound(t, lookAtMySQL(t, through), "role", preflight.Refused, "replica of 127.0.0.1:1", "RESET REPLICA ALL")
	requireFound(t, lookAtMySQL(t, direct), "role", preflight.Refused, "replica of 127.0.0.1:1")
	require.Empty(t, p.Refused())
}

// noReplicaStatus answers the question for a replica with errors.
type noReplicaStatus struct {
	driver.Conn
	number uint16
}

func (c noReplicaStatus) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if strings.HasSuffix(query, " STATUS") {
		return nil, &mysql.MySQLError{Number: c.number, Message: "said the server"}
	}
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
}

func (c noReplicaStatus) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	return c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
}

func (c noReplicaStatus) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	return c.Conn.(driver.ConnBeginTx).BeginTx(ctx, o)
}

type noReplicaConnector struct {
	driver.Connector
	number uint16
}

func (c noReplicaConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	return noReplicaStatus{conn, c.number}, err
}

func TestMySQL_ReplicaStatusRefused_BlamesTheUserForMissingRightsOnly(t *testing.T) {
	dsn := testservers.DSN(t)
	migrate(t, dsn)
	config, err := mysql.ParseDSN(dsn)
	require.NoError(t, err)
	connector, err := mysqlconn.NewConnector(config)
	require.NoError(t, err)
	for number, want := range map[uint16]struct {
		level preflight.Level
		says  string
	}{
		1227: {preflight.Fine, "the user lacks the right"},
		1142: {preflight.Fine, "the user lacks the right"},
		1064: {preflight.Warning, "is unknown: SHOW SLAVE STATUS: Error 1064: said the server"},
		1105: {preflight.Warning, "is unknown: SHOW REPLICA STATUS: Error 1105: said the server"},
	} {
		db := sql.OpenDB(noReplicaConnector{connector, number})
		requireFound(t, lookAtMySQL(t, db), "role", want.level, want.says)
		require.NoError(t, db.Close())
	}
}

func TestMySQL_StrangeDefaults_AreNamedAndHarmless(t *testing.T) {
	m := testservers.NewMariaDB(t)
	name, err := m.CreateDatabase(t.Context())
	require.NoError(t, err)
	migrate(t, m.DSN(name))
	root := open(t, m.DSN(name))
	config, err := mysql.ParseDSN(m.DSN(name))
	require.NoError(t, err)
	connector, err := mysqlconn.NewConnector(config)
	require.NoError(t, err)
	requireFound(t, lookAtMySQL(t, root), "session", preflight.Fine, "those of the program")
	for variable, c := range map[string]struct{ wrong, right, shown string }{
		"autocommit": {"0", "1", "OFF"}, "completion_type": {"1", "0", "CHAIN"}, "sql_safe_updates": {"1", "0", "ON"},
		"sql_select_limit": {"1", "18446744073709551615", "1"}, "unique_checks": {"0", "1", "OFF"}, "foreign_key_checks": {"0", "1", "OFF"},
		"tx_isolation": {"'READ-UNCOMMITTED'", "'REPEATABLE-READ'", "READ-UNCOMMITTED"}, "tx_read_only": {"1", "0", "ON"},
		"sql_mode": {"''", "'STRICT_TRANS_TABLES'", "''"},
	} {
		for _, value := range []string{c.wrong, c.right} {
			_, err := root.ExecContext(t.Context(), "SET GLOBAL "+variable+" = "+value)
			require.NoError(t, err)
			if value == c.right {
				break
			}
			own := sql.OpenDB(connector)
			f := lookAtMySQL(t, own)
			requireFound(t, f, "session", preflight.Fine, variable+" "+c.shown)
			require.NoError(t, f.Err())
			require.NoError(t, own.Close())
			if variable == "autocommit" || variable == "tx_read_only" || variable == "sql_select_limit" {
				continue // a session without the program's settings fails before, or shows one of them only
			}
			requireFound(t, lookAtMySQL(t, open(t, m.DSN(name))), "session", preflight.Refused, variable+" "+c.shown, "a proxy in between")
		}
	}
	for variable, level := range map[string]preflight.Level{
		"max_statement_time = 0.5": preflight.Warning, "max_statement_time = 60": preflight.Fine, "max_statement_time = 0": preflight.Fine,
	} {
		_, err := root.ExecContext(t.Context(), "SET GLOBAL "+variable)
		require.NoError(t, err)
		requireFound(t, lookAtMySQL(t, root), "statements", level)
	}
}

func TestMySQLCheck_ClockSkewed_WarnsThenRefuses(t *testing.T) {
	moved := testservers.NewClock(t)
	r := testservers.NewRedis(t, servers.ByClock(moved))
	c := client(t, r.Addr(), "")
	for by, level := range map[time.Duration]preflight.Level{
		0: preflight.Fine, 700 * time.Millisecond: preflight.Fine, 2 * time.Second: preflight.Warning,
		-4 * time.Second: preflight.Warning, 6 * time.Second: preflight.Refused, -time.Hour: preflight.Refused,
	} {
		testservers.Move(t, moved, by)
		read, err := clock.New(nil).Read(t.Context(), "redis", func(ctx context.Context) (time.Time, error) { return c.Time(ctx).Result() })
		require.NoError(t, err)
		var f preflight.Findings
		f.Add(preflight.Clock(read))
		if level == preflight.Fine {
			requireFound(t, &f, "clock", level)
			continue
		}
		way := "behind"
		if by < 0 {
			way = "ahead"
		}
		requireFound(t, &f, "clock", level, way, "NTP")
	}
}
