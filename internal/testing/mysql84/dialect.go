package mysql84

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// The lists are of the manual of MySQL 8.4, https://dev.mysql.com/doc/refman/8.4/en/. They have only what this
// program uses. Before you add a word, look it up there and in docs/MYSQL-AND-MARIADB.md.
var (
	// statements are how a statement may begin.
	statements = []string{
		"ALTER TABLE", "COMMIT", "CREATE TABLE", "DELETE", "DO", "DROP TABLE", "INSERT", "ROLLBACK", "SELECT", "SET",
		"SHOW GLOBAL STATUS", "SHOW GLOBAL VARIABLES", "SHOW SESSION VARIABLES", "SHOW REPLICA STATUS",
		"START TRANSACTION", "UPDATE",
	}
	// calls are the functions, and the types and words that are written as one.
	calls = []string{
		"CAST", "CHAR_LENGTH", "COALESCE", "CONCAT", "CONCAT_WS", "CONNECTION_ID", "CONVERT", "COUNT", "CRC32", "DATABASE", "GET_LOCK",
		"GREATEST", "IF", "IS_USED_LOCK", "LAST_INSERT_ID", "MAX", "NOW", "RELEASE_LOCK", "REPLACE", "ROW_COUNT", "SHA2", "SUM",
		"TIMESTAMPDIFF", "UTC_TIMESTAMP", "UUID", "VALUES", "VERSION",
		"BIGINT", "DATETIME", "EXISTS", "IN", "KEY", "TINYINT", "VARBINARY", "VARCHAR",
	}
	// variables are those of sessions.
	variables = []string{
		"autocommit", "completion_type", "foreign_key_checks", "innodb_lock_wait_timeout", "max_execution_time", "sql_big_selects",
		"sql_mode", "sql_safe_updates", "sql_select_limit", "time_zone", "unique_checks", "wait_timeout",
	}
	// mariaDBWords are syntax of MariaDB alone.
	mariaDBWords = []string{"MASTER", "NEXTVAL", "RETURNING", "SEQUENCE", "SLAVE", "STATEMENT", "WAIT"}
	// reserved are the words that MySQL reserves, by 9.x, and MariaDB 10.11 does not. A name needs backquotes.
	reserved = []string{
		"CUBE", "CUME_DIST", "DENSE_RANK", "EMPTY", "EXTERNAL", "FIRST_VALUE", "FUNCTION", "GENERATED", "GET", "GROUPING", "GROUPS",
		"IO_AFTER_GTIDS", "IO_BEFORE_GTIDS", "JSON_TABLE", "LAG", "LAST_VALUE", "LATERAL", "LEAD", "LIBRARY", "MANUAL",
		"NTH_VALUE", "NTILE", "OPTIMIZER_COSTS", "PARALLEL", "PERCENT_RANK", "QUALIFY", "RANK", "ROW", "ROW_NUMBER",
		"SETS", "STORED", "SYSTEM", "TABLESAMPLE", "VIRTUAL",
	}
)

var (
	// quoted are texts, quoted names and comments. What MariaDB alone reads in a comment is left.
	quoted   = regexp.MustCompile("(?s)'(?:[^'\\\\]|\\\\.|'')*'|\"(?:[^\"\\\\]|\\\\.|\"\")*\"|`[^`]*`|--[^\n]*|/\\*[^M!].*?\\*/")
	word     = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)
	call     = regexp.MustCompile(`([A-Za-z_][A-Za-z0-9_]*)\(`)
	systemly = regexp.MustCompile(`@@(?:(?i:session|global)\.)?([A-Za-z_][A-Za-z0-9_]*)`)
	assigned = regexp.MustCompile(`([A-Za-z_][A-Za-z0-9_]*)\s*=`)
	notNames = regexp.MustCompile(`(?i)^SET (?:SESSION |GLOBAL )?(?:NAMES|TRANSACTION)\b`)
)

// refusalOf returns MySQL's error for a text of statements, nil if MySQL 8.4 knows all of them.
func refusalOf(text string) *mysql.MySQLError {
	for statement := range strings.SplitSeq(quoted.ReplaceAllString(text, " ? "), ";") {
		if statement = strings.Join(strings.Fields(statement), " "); statement == "" {
			continue
		}
		if refusal := refusalOfOne(statement); refusal != nil {
			return refusal
		}
	}
	return nil
}

func refusalOfOne(statement string) *mysql.MySQLError {
	upper := strings.ToUpper(statement)
	if !slices.ContainsFunc(statements, func(begin string) bool { return upper == begin || strings.HasPrefix(upper, begin+" ") }) {
		return syntaxError(statement)
	}
	if at := strings.Index(upper, "/*"); at >= 0 {
		return syntaxError(statement[at:])
	}
	for _, at := range word.FindAllStringIndex(upper, -1) {
		one := upper[at[0]:at[1]]
		if slices.Contains(mariaDBWords, one) || slices.Contains(reserved, one) {
			return syntaxError(statement[at[0]:])
		}
	}
	for _, m := range call.FindAllStringSubmatch(upper, -1) {
		if !slices.Contains(calls, m[1]) {
			return mysqlError(1305, "42000", "FUNCTION "+m[1]+" does not exist")
		}
	}
	names := systemly.FindAllStringSubmatch(statement, -1)
	if strings.HasPrefix(upper, "SET ") && !notNames.MatchString(statement) {
		names = append(names, assigned.FindAllStringSubmatch(statement, -1)...)
	}
	for _, m := range names {
		if !slices.Contains(variables, strings.ToLower(m[1])) {
			return mysqlError(1193, "HY000", fmt.Sprintf("Unknown system variable '%s'", m[1]))
		}
	}
	return nil
}

func syntaxError(near string) *mysql.MySQLError {
	return mysqlError(1064, "42000", "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server "+
		"version for the right syntax to use near '"+near[:min(len(near), 80)]+"' at line 1")
}

func mysqlError(number uint16, state, message string) *mysql.MySQLError {
	return &mysql.MySQLError{Number: number, SQLState: [5]byte([]byte(state)), Message: message}
}
