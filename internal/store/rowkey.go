package store

import (
	"strconv"
	"strings"
)

// rowKey identifies rows of a table by the columns of an index. The user is one of the columns, so the server finds
// each row with one lookup in one partition. The values of n rows are the parameters of a statement.
//
// A statement for few rows has the rows in its condition, so that the server knows which partitions to read. A
// statement for many rows joins the parameters with the table. A condition with many rows takes MySQL and MariaDB
// longer to plan than to execute. If the number of rows doubles, the plan takes up to eight times as long.
type rowKey struct {
	table, index string
	columns      []string
	ascii        bool // the first column is text, which the server compares byte by byte
}

var (
	orderByID      = rowKey{table: "orders", index: "PRIMARY", columns: []string{"id", "user_id"}}
	orderByRequest = rowKey{table: "orders", index: "orders_request", columns: []string{"request_id", "user_id"}, ascii: true}
	// A buyer has as many orders of a coupon as the limit allows, and those that are not live.
	orderByBuyer  = rowKey{table: "orders", index: "orders_slot", columns: []string{"coupon_id", "user_id"}}
	entrantByUser = rowKey{table: "lottery_entrants", index: "PRIMARY", columns: []string{"coupon_id", "user_id"}}
	returnByOrder = rowKey{table: "stock_returns", index: "PRIMARY", columns: []string{"order_id", "user_id", "epoch"}}
)

const fewKeys = 4

// rows returns the SQL of a join that selects the n rows. The table has the name o.
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

// value returns the SQL of the i-th value of a row of parameters. i counts from 1. It converts text from the character
// set of the connection. Otherwise one letter that the column cannot have would fail the statement for all rows.
func (k rowKey) value(d dialect, i int) string {
	value := "w.column" + strconv.Itoa(i)
	if k.ascii && i == 1 && d == mysqlDialect {
		return "CONVERT(" + value + " USING ascii) COLLATE ascii_bin"
	}
	return value
}

// condition returns the SQL of a condition that selects the n rows.
func (k rowKey) condition(d dialect, n int) string {
	if d == sqliteDialect {
		return "(" + strings.Join(k.columns, ", ") + ") IN (VALUES " + placeholders(n, len(k.columns)) + ")"
	}
	one := "(" + strings.Join(k.columns, " = ? AND ") + " = ?)"
	return strings.Repeat(one+" OR ", n-1) + one
}

// selectSQL returns the statement that reads columns of n rows.
func (k rowKey) selectSQL(d dialect, columns string, n int) string {
	if n <= fewKeys {
		return "SELECT " + columns + " FROM " + k.table + " WHERE " + k.condition(d, n)
	}
	return "SELECT " + columns + " FROM " + k.rows(d, n)
}

// deleteSQL returns the statement that deletes n rows.
func (k rowKey) deleteSQL(d dialect, n int) string {
	if d == sqliteDialect || n <= fewKeys {
		return "DELETE FROM " + k.table + " WHERE " + k.condition(d, n)
	}
	return "DELETE o FROM " + k.rows(d, n)
}

// updateSQL returns the statement that sets columns of n rows.
func (k rowKey) updateSQL(d dialect, set string, n int) string {
	if d == sqliteDialect || n <= fewKeys {
		return "UPDATE " + k.table + " SET " + set + " WHERE " + k.condition(d, n)
	}
	return "UPDATE " + k.rows(d, n) + " SET " + set
}
