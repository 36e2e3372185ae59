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

	"example.com/seckill/internal/order"
)

// errRetry: the transaction is rolled back, or must be, and may be run again. For a caller that does not run it
// again, the database is unavailable.
var errRetry = fmt.Errorf("%w: run the transaction again", order.ErrUnavailable)

// retryCodes are numbers of the manuals of MySQL and MariaDB. After any of them the transaction is poisoned: 1213
// has rolled it back already, so that the next statement would commit by itself, and after the others a
// statement is missing.
var retryCodes = []uint16{
	1205,             // lock wait timeout
	1213,             // deadlock
	1020,             // the record has changed since the snapshot (MariaDB, snapshot isolation)
	3572,             // NOWAIT and the row is locked
	1615,             // a prepared statement has to be prepared again
	1637,             // too many transactions
	1689,             // an ALTER TABLE waits for the same table
	sortAborted,      // by KILL QUERY
	queryInterrupted, // by KILL QUERY
	maxStatementTime,
	maxExecutionTime,
}

// The errors that mean something to a single statement: see isDuplicate and isSmallerFence.
const (
	duplicateKey = 1062
	outOfRange   = 1690
)

// The result codes of SQLite, without what extends them.
const (
	sqliteBusy       = 5 // another connection writes
	sqliteLocked     = 6 // another connection writes
	sqliteIO         = 10
	sqliteFull       = 13 // the disk is full
	sqliteConstraint = 19
)

// classify is the one place that knows the databases' error numbers. It wraps an error of the database in
// errRetry or order.ErrUnavailable, but for those that a statement is written to provoke. An unknown number is
// order.ErrUnavailable as well: a buyer cannot mend it, and the same request may succeed later.
func classify(err error) error {
	if err == nil || errors.Is(err, errRetry) || errors.Is(err, order.ErrUnavailable) {
		return err
	}
	var fromMySQL *mysql.MySQLError
	var fromSQLite *sqlite.Error
	var fromNet net.Error
	switch {
	case errors.As(err, &fromMySQL):
		switch {
		case fromMySQL.Number == duplicateKey, fromMySQL.Number == outOfRange:
			return err
		case slices.Contains(retryCodes, fromMySQL.Number):
			return fmt.Errorf("%w: %w", errRetry, err)
		}
		return &unavailableError{causeOfNumber(fromMySQL), err}
	case errors.As(err, &fromSQLite):
		return classifySQLite(fromSQLite.Code()&0xff, err)
	case errors.As(err, &fromNet), errors.Is(err, driver.ErrBadConn), errors.Is(err, mysql.ErrInvalidConn),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, sql.ErrConnDone),
		errors.Is(err, sql.ErrTxDone), errors.Is(err, context.DeadlineExceeded):
		return &unavailableError{CauseAway, err}
	}
	return err
}

func classifySQLite(code int, err error) error {
	switch code {
	case sqliteConstraint:
		return err
	case sqliteBusy, sqliteLocked:
		return fmt.Errorf("%w: %w", errRetry, err)
	case sqliteIO:
		return &unavailableError{CauseAway, err}
	case sqliteFull:
		return &unavailableError{CauseFull, err}
	}
	return &unavailableError{CauseRejected, err}
}

// isDuplicate reports whether a unique index refused a row.
func isDuplicate(err error) bool {
	return isError(err, duplicateKey, "UNIQUE constraint failed")
}

// isSmallerFence reports whether raiseFenceSQL found a larger fence.
func isSmallerFence(err error) bool {
	return isError(err, outOfRange, "NOT NULL constraint failed: fences.fence")
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
