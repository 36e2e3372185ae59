package store

// Statements about many rows of a table, each given by its id and its user: n such pairs are
// the parameters. Each row is found by the primary key, in one partition.
//
// MySQL and MariaDB join the pairs with the table. To plan a condition that names them one
// after the other, with OR, takes them longer than to execute it, and with twice as many
// about eight times as long.

// keyedRows are those rows, to select from.
func keyedRows(d dialect, table, id string, n int) string {
	if d == sqliteDialect {
		return valuesTable(d, n, 2) + " CROSS JOIN " + table + " AS o ON o." + id + " = w.column1 AND o.user_id = w.column2"
	}
	return valuesTable(d, n, 2) + " STRAIGHT_JOIN " + table + " AS o FORCE INDEX (PRIMARY) ON o." + id + " = w.column1 AND o.user_id = w.column2"
}

// deleteKeyed deletes those rows.
func deleteKeyed(d dialect, table, id string, n int) string {
	if d == sqliteDialect {
		return "DELETE FROM " + table + " WHERE (" + id + ", user_id) IN (VALUES " + placeholders(n, 2) + ")"
	}
	return "DELETE o FROM " + keyedRows(d, table, id, n)
}

// updateKeyed sets columns of those rows.
func updateKeyed(d dialect, table, id, set string, n int) string {
	if d == sqliteDialect {
		return "UPDATE " + table + " SET " + set + " WHERE (" + id + ", user_id) IN (VALUES " + placeholders(n, 2) + ")"
	}
	return "UPDATE " + keyedRows(d, table, id, n) + " SET " + set
}
