package preflight

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// tablesUsed are those that the program reads and writes; `seckill migrate` makes them.
var tablesUsed = []string{
	"coupons", "orders", "orders_archive", "fences", "stock_returns", "deployment", "lock_fences", "lock_leases",
	"lottery_draws", "lottery_entrants",
}

// verbs are what the program does with them, each as it changes no row. The server looks
// at the rights before it looks for rows.
var verbs = []struct{ name, statement string }{
	{"SELECT", "SELECT 1 FROM %[1]s WHERE 1 = 0 FOR UPDATE"},
	{"INSERT", "INSERT INTO %[1]s SELECT * FROM %[1]s WHERE 1 = 0"},
	{"UPDATE", "UPDATE %[1]s SET %[2]s = %[2]s WHERE 1 = 0"},
	{"DELETE", "DELETE FROM %[1]s WHERE 1 = 0"},
}

const (
	syntaxError    = 1064
	noSuchTable    = 1146
	tableDenied    = 1142
	columnDenied   = 1143
	lacksPrivilege = 1227
	commandDenied  = 1370
)

// tables tries on every table what the program does, in one transaction that is rolled
// back.
func tables(ctx context.Context, db *sql.DB, say func(Level, string, string, string)) error {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // nothing was written
	var lacking []string
	for _, table := range tablesUsed {
		for _, verb := range verbs {
			_, err := tx.ExecContext(ctx, fmt.Sprintf(verb.statement, table, first(table)))
			switch number, answer := code(err); {
			case err == nil:
			case !answer:
				return fmt.Errorf("%s on %s: %w", verb.name, table, err)
			case number == noSuchTable:
				say(Refused, "schema", "there is no table "+table, "run seckill migrate")
				return nil
			case slices.Contains([]uint16{tableDenied, columnDenied, commandDenied}, number):
				lacking = append(lacking, verb.name+" on "+table)
			default:
				say(Refused, "writes", fmt.Sprintf("%s on %s: %s", verb.name, table, firstLine(err)), "see the server's log")
				return nil
			}
		}
	}
	if len(lacking) == 0 {
		say(Fine, "rights", fmt.Sprintf("the user may read and write all %d tables", len(tablesUsed)), "")
		return nil
	}
	say(Refused, "rights", "the user of mysql.dsn may not "+strings.Join(lacking, ", "),
		"GRANT SELECT, INSERT, UPDATE, DELETE on the tables of the database to it; for seckill migrate also CREATE, ALTER, INDEX, DROP")
	return nil
}

// first names a column of a table that has one.
func first(table string) string {
	switch table {
	case "fences":
		return "user_id"
	case "stock_returns":
		return "order_id"
	case "lottery_draws", "lottery_entrants":
		return "coupon_id"
	case "lock_fences", "lock_leases":
		return "name"
	}
	return "id"
}

// code is the number of a server's error.
func code(err error) (uint16, bool) {
	answer, is := errors.AsType[*mysql.MySQLError](err)
	if !is {
		return 0, false
	}
	return answer.Number, true
}
