package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	sqlite "github.com/glebarez/go-sqlite"
	"github.com/go-sql-driver/mysql"

	"seckill/internal/order"
)

// errRetry: the transaction is rolled back, or must be, and may be run again.
var errRetry = errors.New("store: run the transaction again")

// The numbers are those of the manuals of MySQL and MariaDB. After any of the first
// group the transaction is poisoned: 1213 has rolled it back already, so that the
// next statement would commit by itself, and after 1205 a statement is missing.
var (
	retryCodes = []uint16{
		1205, // lock wait timeout
		1213, // deadlock
		1020, // the record has changed since the snapshot (MariaDB, snapshot isolation)
		3572, // NOWAIT and the row is locked
	}
	unavailableCodes = []uint16{
		1021, // the disk is full
		1026, // a file cannot be written
		1040, // too many connections
		1047, // a node of a Galera cluster without the majority
		1053, // server shutdown in progress
		1114, // the table has no room: the disk is full
		1152, // aborted connection
		1159, // the connection was idle too long in a transaction (MariaDB)
		1290, // read only
		1836, // read only
		1927, // connection was killed (MariaDB)
		3169, // session was killed
		4031, // disconnected by the server because of inactivity
	}
)

// The result codes of SQLite, without what extends them.
const (
	sqliteBusy   = 5 // another connection writes
	sqliteLocked = 6 // another connection writes
	sqliteIO     = 10
	sqliteFull   = 13 // the disk is full
)

// classify is the one place that knows the databases' error numbers. It wraps an
// error in errRetry or order.ErrUnavailable where it is one of those.
func classify(err error) error {
	if err == nil || errors.Is(err, errRetry) || errors.Is(err, order.ErrUnavailable) {
		return err
	}
	var fromMySQL *mysql.MySQLError
	var fromSQLite *sqlite.Error
	var fromNet net.Error
	switch {
	case errors.As(err, &fromMySQL):
		if slices.Contains(retryCodes, fromMySQL.Number) {
			return fmt.Errorf("%w: %w", errRetry, err)
		}
		if slices.Contains(unavailableCodes, fromMySQL.Number) {
			return &unavailableError{err}
		}
	case errors.As(err, &fromSQLite):
		switch fromSQLite.Code() & 0xff {
		case sqliteBusy, sqliteLocked:
			return fmt.Errorf("%w: %w", errRetry, err)
		case sqliteIO, sqliteFull:
			return &unavailableError{err}
		}
	case errors.As(err, &fromNet), errors.Is(err, driver.ErrBadConn), errors.Is(err, mysql.ErrInvalidConn),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, sql.ErrConnDone),
		errors.Is(err, sql.ErrTxDone), errors.Is(err, context.DeadlineExceeded):
		return &unavailableError{err}
	}
	return err
}

// isDuplicate reports whether a unique index refused a row.
func isDuplicate(err error) bool {
	return isError(err, 1062, "UNIQUE constraint failed")
}

// isSmallerFence reports whether raiseFenceSQL found a larger fence.
func isSmallerFence(err error) bool {
	return isError(err, 1690, "NOT NULL constraint failed: fences.fence") // MySQL: a number is out of range
}

// isError reports whether err is MySQL's with this number, or SQLite's with this text.
func isError(err error, number uint16, text string) bool {
	if fromMySQL, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return fromMySQL.Number == number
	}
	fromSQLite, ok := errors.AsType[*sqlite.Error](err)
	return ok && strings.Contains(fromSQLite.Error(), text)
}

// violatedIndex says which of the unique indexes of orders refused a row. The name of the
// index is in the message alone, in MySQL as "table.index", in MariaDB as "index"
// and in SQLite as the columns. The primary key goes with the request: an id is
// given to one request of a user only.
func violatedIndex(err error) (slot, request bool) {
	if !isDuplicate(err) {
		return false, false
	}
	text := err.Error()
	slot = strings.Contains(text, "orders_slot") || strings.Contains(text, "orders.slot")
	return slot, !slot
}
