package store

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"example.com/seckill/internal/platform/mysqlconn"
)

// An instance that is stopped inside its transaction holds the coupon's row, and with
// it all others' orders, for as long as its connection lives. So each session asks the
// server to end it when it has waited a second for the transaction's next statement,
// which an instance at work sends within a millisecond:
//
//	MariaDB   idle_write_transaction_timeout, which spares connections in the pool
//	MySQL     wait_timeout, which does not: there the pool gives up idle ones first
const (
	mariaDBIdleVariable = "idle_write_transaction_timeout"
	mysqlIdleVariable   = "wait_timeout"
	idleLimitSeconds    = "1"
	mysqlPoolIdleTime   = 500 * time.Millisecond // on MySQL
)

// isMariaDB asks the server which of the two it is.
func isMariaDB(ctx context.Context, dsn *driver.Config) (bool, error) {
	connector, err := mysqlconn.NewConnector(dsn)
	if err != nil {
		return false, err
	}
	pool := sql.OpenDB(connector)
	var version string
	if err := errors.Join(pool.QueryRowContext(ctx, "SELECT VERSION()").Scan(&version), pool.Close()); err != nil {
		return false, awayError(dsn.Addr, err)
	}
	return strings.Contains(version, "MariaDB"), nil
}

// setIdleLimit sets the variable for each new session, and returns the time that the pool may keep a session
// idle; 0 is any.
func setIdleLimit(dsn *driver.Config, mariaDB bool) time.Duration {
	if mariaDB {
		dsn.Params[mariaDBIdleVariable] = idleLimitSeconds
		return 0
	}
	dsn.Params[mysqlIdleVariable] = idleLimitSeconds
	return mysqlPoolIdleTime
}

// liftTimeLimits takes away the limits that an administrator may have set for statements and transactions in
// general: a migration or a page of a whole sale takes longer than an order.
func liftTimeLimits(dsn *driver.Config, mariaDB bool) {
	limits := []string{"max_execution_time"}
	if mariaDB {
		limits = []string{"max_statement_time", "idle_transaction_timeout", "idle_readonly_transaction_timeout"}
	}
	for _, name := range limits {
		dsn.Params[name] = "0"
	}
}
