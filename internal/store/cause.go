package store

import (
	"errors"
	"fmt"

	"github.com/go-sql-driver/mysql"

	"seckill/internal/order"
)

// unavailableError is an order.ErrUnavailable of the database: it can be told from that of Redis.
type unavailableError struct{ err error }

func (e *unavailableError) Error() string { return fmt.Sprintf("%v: %v", order.ErrUnavailable, e.err) }

// Unwrap returns order.ErrUnavailable and what it was made of.
func (e *unavailableError) Unwrap() []error { return []error{order.ErrUnavailable, e.err} }

// The causes for which the database does not do what it is asked.
const (
	CauseReadOnly    = "database_read_only"
	CauseFull        = "database_full"        // its disk
	CauseConnections = "database_connections" // it takes no more
	CauseNoMajority  = "database_no_majority" // it is a node of a Galera cluster that is not with most of the others
	CauseAway        = "database_away"        // no answer, or none in time
)

// Cause returns the cause of an order.ErrUnavailable of the database; "" for any other error.
func Cause(err error) string {
	if _, ours := errors.AsType[*unavailableError](err); !ours {
		return ""
	}
	said, _ := errors.AsType[*mysql.MySQLError](err)
	if said == nil {
		return CauseAway
	}
	switch said.Number {
	case 1290, 1836:
		return CauseReadOnly
	case 1021, 1026, 1114:
		return CauseFull
	case 1040:
		return CauseConnections
	case 1047:
		return CauseNoMajority
	}
	return CauseAway
}
