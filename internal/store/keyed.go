package store

// Statements about rows of a table, each given by its id and its user: n such pairs are the
// parameters.
//
// A few are named in a condition, so that the server knows which partitions to ask. Many are
// joined with the table, each row found by its primary key, in one partition: to plan a
// condition that names them one after the other takes MySQL and MariaDB longer than to
// execute it, and about eight times as long for twice as many.
const fewKeys = 8

// keyedRows are those rows, to select from: the table is o.
func keyedRows(d dialect, table, id string, n int) string {
	join, index := "CROSS JOIN", ""
	if d == mysqlDialect {
		join, index = "STRAIGHT_JOIN", " FORCE INDEX (PRIMARY)"
	}
	return valuesTable(d, n, 2) + " " + join + " " + table + " AS o" + index + " ON o." + id + " = w.column1 AND o.user_id = w.column2"
}

// keyedCondition names those rows.
func keyedCondition(d dialect, id string, n int) string {
	if d == sqliteDialect {
		return "(" + id + ", user_id) IN (VALUES " + placeholders(n, 2) + ")"
	}
	return keyCondition(id, n)
}

// deleteKeyed deletes those rows.
func deleteKeyed(d dialect, table, id string, n int) string {
	if d == sqliteDialect || n <= fewKeys {
		return "DELETE FROM " + table + " WHERE " + keyedCondition(d, id, n)
	}
	return "DELETE o FROM " + keyedRows(d, table, id, n)
}

// updateKeyed sets columns of those rows.
func updateKeyed(d dialect, table, id, set string, n int) string {
	if d == sqliteDialect || n <= fewKeys {
		return "UPDATE " + table + " SET " + set + " WHERE " + keyedCondition(d, id, n)
	}
	return "UPDATE " + keyedRows(d, table, id, n) + " SET " + set
}
