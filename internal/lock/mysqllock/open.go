package mysqllock

import (
	"crypto/tls"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/go-sql-driver/mysql"

	"example.com/seckill/internal/platform/mysqlconn"
)

const (
	defaultConns = 16
	idleTime     = time.Minute
)

// Open makes a pool of at most conns connections (0 is 16) to the database of dsn,
// set as this package needs it: parameters inside the statement, which saves a round
// trip, times in UTC. Nothing is dialed yet. Closing it is the caller's.
func Open(dsn string, conns int) (*sql.DB, error) { return OpenTLS(dsn, nil, conns) }

// OpenTLS is Open over TLS as secure says, unless it is nil.
func OpenTLS(dsn string, secure *tls.Config, conns int) (*sql.DB, error) {
	c, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, errors.New("mysqllock: the DSN cannot be parsed") // the driver's error may quote the password
	}
	if secure != nil {
		c.TLS = secure
	}
	c.ParseTime, c.Loc, c.InterpolateParams, c.ClientFoundRows = true, time.UTC, true, false
	c.Logger = &mysql.NopLogger{} // what fails is an error too
	connector, err := mysqlconn.NewConnector(c)
	if err != nil {
		return nil, fmt.Errorf("mysqllock: use the DSN: %w", err)
	}
	if conns <= 0 {
		conns = defaultConns
	}
	pool := sql.OpenDB(connector)
	pool.SetMaxOpenConns(conns)
	pool.SetMaxIdleConns(conns)
	pool.SetConnMaxIdleTime(idleTime)
	return pool, nil
}
