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

// unavailableError is an order.ErrUnavailable of the database, as opposed to one of Redis.
type unavailableError struct {
	cause string
	err   error
}

func (e *unavailableError) Error() string { return fmt.Sprintf("%v: %v", order.ErrUnavailable, e.err) }

// Unwrap returns order.ErrUnavailable and the error of the database.
func (e *unavailableError) Unwrap() []error { return []error{order.ErrUnavailable, e.err} }

// The causes of an unavailable database.
const (
	CauseReadOnly    = "database_read_only"
	CauseFull        = "database_full"          // its disk
	CauseMemory      = "database_out_of_memory" // its machine's
	CauseConnections = "database_connections"   // it takes no more
	CauseNoMajority  = "database_no_majority"   // it is a node of a Galera cluster that is not with most of the others
	CauseInterrupted = "database_interrupted"   // it breaks statements off, at a limit of time or by KILL
	CauseAway        = "database_away"          // no answer, or none in time
	// CauseRejected is each error of the server that the table does not have. It may be a fault of the
	// program, such as an unknown column, or of the server, such as a right that is missing.
	CauseRejected = "database_rejected"
)

// causesByNumber are the errors after which a session or the whole server is of no use for the moment. The
// numbers are those of the manuals of MySQL and MariaDB.
var causesByNumber = map[uint16]string{
	1290: CauseReadOnly, // --read-only or --super-read-only
	1792: CauseReadOnly, // the transaction is read-only
	1836: CauseReadOnly, // innodb_read_only
	1021: CauseFull,
	1026: CauseFull, // writing a file
	1114: CauseFull, // the table has no room
	1878: CauseFull, // writing a temporary file
	1037: CauseMemory,
	1038: CauseMemory, // for sorting
	1041: CauseMemory,
	1135: CauseMemory, // no thread for a connection
	1040: CauseConnections,
	1203: CauseConnections, // max_user_connections
	1226: CauseConnections, // a limit of the user, such as MAX_QUERIES_PER_HOUR
	1047: CauseNoMajority,
	1053: CauseAway, // the server shuts down
	1080: CauseAway, // the server ends the session at its shutdown
	1152: CauseAway, // aborted connection
	1158: CauseAway, // reading from the network
	1159: CauseAway, // reading from the network took too long
	1160: CauseAway, // writing to the network
	1161: CauseAway, // writing to the network took too long
	1184: CauseAway, // aborted connection
	1927: CauseAway, // KILL of the session (MariaDB)
	3168: CauseAway, // the server is not available
	3169: CauseAway, // KILL of the session (MySQL)
	4031: CauseAway, // the session was idle for wait_timeout (MySQL)
}

// interruptions are those of retryCodes with which the server breaks off a statement that it could do.
var interruptions = []uint16{sortAborted, queryInterrupted, maxStatementTime, maxExecutionTime}

const (
	sortAborted      = 1028
	queryInterrupted = 1317
	maxStatementTime = 1969 // MariaDB
	maxExecutionTime = 3024 // MySQL
)

// storageError is an error of the operating system that InnoDB met, with its number in the text.
const storageError = 1030

// causeOfNumber returns the cause of an error of the server.
func causeOfNumber(err *mysql.MySQLError) string {
	if cause, known := causesByNumber[err.Number]; known {
		return cause
	}
	if err.Number == storageError && strings.HasPrefix(err.Message, "Got error 28 ") { // ENOSPC
		return CauseFull
	}
	return CauseRejected
}

// Cause returns the cause of an order.ErrUnavailable of the database; "" for any other error.
func Cause(err error) string {
	if errors.Is(err, errRetry) {
		said, _ := errors.AsType[*mysql.MySQLError](err)
		if said != nil && slices.Contains(interruptions, said.Number) {
			return CauseInterrupted
		}
		return CauseAway
	}
	if e, ours := errors.AsType[*unavailableError](err); ours {
		return e.cause
	}
	return ""
}
