package lab

import (
	"strconv"
	"time"
)

// long is a lease that does not run out in any experiment.
const long = time.Minute

// Isolation levels, as a session of MySQL or MariaDB is told.
const (
	repeatable = "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ"
	committed  = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"
	snapshot   = "SET SESSION innodb_snapshot_isolation = ON"
)

func ms(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
