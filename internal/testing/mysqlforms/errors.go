package mysqlforms

import (
	"database/sql"
	"errors"
	"slices"

	"github.com/go-sql-driver/mysql"
)

// poisonous lists the errors after which a transaction is rolled back, or must be. After 1213 the server has rolled
// it back, and the next statement would commit by itself. After the others one statement is missing.
var poisonous = []uint16{
	1205, // lock wait timeout
	1213, // deadlock
	1020, // the record has changed since the snapshot (MariaDB)
	1317, // KILL QUERY
	1969, // max_statement_time (MariaDB)
	3024, // max_execution_time (MySQL)
}

func poisons(err error) bool {
	var e *mysql.MySQLError
	return errors.As(err, &e) && slices.Contains(poisonous, e.Number)
}

// isServers reports whether the server itself returned err for a statement. After any other error the statement may
// have been carried out.
func isServers(err error) bool {
	var e *mysql.MySQLError
	return errors.As(err, &e) || errors.Is(err, sql.ErrNoRows)
}
