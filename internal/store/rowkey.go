package store

import (
	"strconv"
	"strings"
)

// rowKey is how rows of a table are named: by the columns of an index, the user among them, so
// that each is found by one look into one partition. The values of n rows are the parameters.
//
// A few are named in a condition, so that the server knows which partitions to ask. Many are
// joined with the table: to plan a condition that names them one after the other takes MySQL
// and MariaDB longer than to execute it, and up to eight times as long for twice as many.
type rowKey struct {
	table, index string
	columns      []string
	ascii        bool // the first column is text, compared byte by byte
}

var (
	orderByID      = rowKey{table: "orders", index: "PRIMARY", columns: []string{"id", "user_id"}}
	orderByRequest = rowKey{table: "orders", index: "orders_request", columns: []string{"request_id", "user_id"}, ascii: true}
	returnByOrder  = rowKey{table: "stock_returns", index: "PRIMARY", columns: []string{"order_id", "user_id", "epoch"}}
)

const fewKeys = 4

// rows are those rows, to select from: the table is o.
func (k rowKey) rows(d dialect, n int) string {
	join, index := " CROSS JOIN ", ""
	if d == mysqlDialect {
		join, index = " STRAIGHT_JOIN ", " FORCE INDEX ("+k.index+")"
	}
	on := make([]string, len(k.columns))
	for i, column := range k.columns {
		on[i] = "o." + column + " = " + k.value(d, i+1)
	}
	return valuesTable(d, n, len(k.columns)) + join + k.table + " AS o" + index + " ON " + strings.Join(on, " AND ")
}

// value is the i-th value of a row of parameters, from 1. Text comes in the character set of the
// connection: a letter that the column cannot have would fail the statement for all of its rows.
func (k rowKey) value(d dialect, i int) string {
	value := "w.column" + strconv.Itoa(i)
	if k.ascii && i == 1 && d == mysqlDialect {
		return "CONVERT(" + value + " USING ascii) COLLATE ascii_bin"
	}
	return value
}

// condition names those rows.
func (k rowKey) condition(d dialect, n int) string {
	if d == sqliteDialect {
		return "(" + strings.Join(k.columns, ", ") + ") IN (VALUES " + placeholders(n, len(k.columns)) + ")"
	}
	one := "(" + strings.Join(k.columns, " = ? AND ") + " = ?)"
	return strings.Repeat(one+" OR ", n-1) + one
}

// selectSQL reads columns of those rows.
func (k rowKey) selectSQL(d dialect, columns string, n int) string {
	if n <= fewKeys {
		return "SELECT " + columns + " FROM " + k.table + " WHERE " + k.condition(d, n)
	}
	return "SELECT " + columns + " FROM " + k.rows(d, n)
}

// deleteSQL deletes those rows.
func (k rowKey) deleteSQL(d dialect, n int) string {
	if d == sqliteDialect || n <= fewKeys {
		return "DELETE FROM " + k.table + " WHERE " + k.condition(d, n)
	}
	return "DELETE o FROM " + k.rows(d, n)
}

// updateSQL sets columns of those rows.
func (k rowKey) updateSQL(d dialect, set string, n int) string {
	if d == sqliteDialect || n <= fewKeys {
		return "UPDATE " + k.table + " SET " + set + " WHERE " + k.condition(d, n)
	}
	return "UPDATE " + k.rows(d, n) + " SET " + set
}
