package lab

import (
	"errors"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"
)

// long is a lease that outlasts every experiment.
const long = time.Minute

// Isolation levels, as statements for a session of MySQL or MariaDB.
const (
	repeatable = "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ"
	committed  = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"
	snapshot   = "SET SESSION innodb_snapshot_isolation = ON"
)

func ms(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

func id(n int64) string { return strconv.FormatInt(n, 10) }

// countDeadlock counts the statements that the server refused with error 1213.
func countDeadlock(n *atomic.Int64) func(err error) {
	return func(err error) {
		if refusal := (*mysql.MySQLError)(nil); errors.As(err, &refusal) && refusal.Number == 1213 {
			n.Add(1)
		}
	}
}
