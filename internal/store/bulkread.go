package store

import (
	"database/sql"
	"fmt"
	"log/slog"
	"time"

	driver "github.com/go-sql-driver/mysql"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"

	"example.com/seckill/internal/platform/mysqlconn"
)

// A whole sale is read over connections of their own, two at most, so that no order waits
// for one. A statement there may take as long as a page may: the DSN's readTimeout is
// made for orders. A session there may also be silent for a while, because what it has
// read is compared with Redis before it reads on.
const (
	maxBulkConns = 2
	bulkIdleTime = 30 * time.Second
)

// openBulk opens the pool for long reads. It connects when it is first used.
func openBulk(orders *driver.Config, mariaDB bool, log *slog.Logger) (*gorm.DB, *sql.DB, error) {
	dsn := orders.Clone()
	liftTimeLimits(dsn, mariaDB)
	if dsn.ReadTimeout > 0 {
		dsn.ReadTimeout = max(dsn.ReadTimeout, pageTimeout)
	}
	connector, err := mysqlconn.NewConnector(dsn)
	if err != nil {
		return nil, nil, err
	}
	pool := sql.OpenDB(deadlineConnector{connector})
	pool.SetMaxOpenConns(maxBulkConns)
	pool.SetMaxIdleConns(1)
	pool.SetConnMaxIdleTime(bulkIdleTime)
	db, err := openGorm(mysql.New(mysql.Config{Conn: pool, SkipInitializeWithVersion: true}), log)
	if err != nil {
		return nil, nil, fmt.Errorf("%w, and closing it: %w", err, pool.Close())
	}
	return db, pool, nil
}
