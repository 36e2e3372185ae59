package store

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"

	"example.com/seckill/internal/order"
)

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
