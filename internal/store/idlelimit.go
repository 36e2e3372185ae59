package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	driver "github.com/go-sql-driver/mysql"
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

// limitIdleTx asks once which of the two the server is, has the DSN set the variable on
// every new connection, and gives the time that the pool may keep one idle; 0 is any.
func limitIdleTx(ctx context.Context, dsn *driver.Config) (time.Duration, error) {
	connector, err := driver.NewConnector(dsn)
	if err != nil {
		return 0, fmt.Errorf("mysql.dsn: %w", err)
	}
	pool := sql.OpenDB(connector)
	var version string
	if err := errors.Join(pool.QueryRowContext(ctx, "SELECT VERSION()").Scan(&version), pool.Close()); err != nil {
		return 0, awayError(dsn.Addr, err)
	}
	return setIdleLimit(dsn, version), nil
}

func setIdleLimit(dsn *driver.Config, version string) time.Duration {
	if dsn.Params == nil {
		dsn.Params = map[string]string{}
	}
	if strings.Contains(version, "MariaDB") {
		dsn.Params[mariaDBIdleVariable] = idleLimitSeconds
		return 0
	}
	dsn.Params[mysqlIdleVariable] = idleLimitSeconds
	return mysqlPoolIdleTime
}
