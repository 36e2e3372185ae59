package preflight

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/seckill/internal/platform/mysqlconn"
)

// The names of the isolation level and of the access mode: of both servers, and of MariaDB before 11.1 and MySQL
// before 8.0.
var (
	isolationNames = []string{"transaction_isolation", "tx_isolation"}
	accessNames    = []string{"transaction_read_only", "tx_read_only"}
)

// shortStatement is the longest page of a whole sale. A server that breaks statements off earlier fails audits.
const shortStatement = 30 * time.Second

// sessionSettings looks at the defaults of the server's sessions. The program sets its own (package mysqlconn), so
// strange defaults do no harm, unless something in between keeps the program's settings from the server.
func sessionSettings(ctx context.Context, db *sql.DB, say func(Level, string, string, string)) error {
	const name = "session"
	defaults, err := showSettings(ctx, db, "GLOBAL")
	if err != nil {
		return err
	}
	mine, err := showSettings(ctx, db, "SESSION")
	if err != nil {
		return err
	}
	switch lacking := unlike(mine); {
	case len(lacking) > 0:
		say(Refused, name, "a new session has "+strings.Join(lacking, ", ")+" although the program has set it otherwise",
			"connect to the server itself: a proxy in between drops SET")
	case len(unlike(defaults)) > 0:
		say(Fine, name, "the server's default is "+strings.Join(unlike(defaults), ", ")+"; the program's sessions have their own", "")
	default:
		say(Fine, name, "the server's defaults are those of the program", "")
	}
	statementTime(defaults, say)
	return nil
}

func showSettings(ctx context.Context, db *sql.DB, scope string) (map[string]string, error) {
	names := slices.Concat(isolationNames, accessNames, []string{"sql_mode", "max_statement_time", "max_execution_time"})
	for _, s := range mysqlconn.Settings() {
		names = append(names, s.Name)
	}
	is := map[string]string{}
	err := each(ctx, db, "SHOW "+scope+" VARIABLES WHERE Variable_name IN ('"+strings.Join(names, "', '")+"')", func(row map[string]string) {
		is[strings.ToLower(row["variable_name"])] = row["value"]
	})
	return is, err
}

// unlike lists the settings that the program could not work with.
func unlike(is map[string]string) (all []string) {
	for _, s := range mysqlconn.Settings() {
		if value, there := is[s.Name]; there && s.Shown != "" && value != s.Shown {
			all = append(all, s.Name+" "+value)
		}
	}
	for _, name := range isolationNames {
		if level := is[name]; level == "READ-UNCOMMITTED" || level == "SERIALIZABLE" {
			all = append(all, name+" "+level)
		}
	}
	for _, name := range accessNames {
		if is[name] == "ON" {
			all = append(all, name+" ON")
		}
	}
	modes := strings.Split(is["sql_mode"], ",")
	if !slices.Contains(modes, "STRICT_ALL_TABLES") && !slices.Contains(modes, "STRICT_TRANS_TABLES") ||
		slices.Contains(modes, "ANSI_QUOTES") || slices.Contains(modes, "ORACLE") {
		all = append(all, "sql_mode '"+is["sql_mode"]+"'")
	}
	return all
}

// statementTime looks at the time after which the server breaks a statement off.
func statementTime(is map[string]string, say func(Level, string, string, string)) {
	const name = "statements"
	limits := map[string]time.Duration{"max_statement_time": time.Second, "max_execution_time": time.Millisecond} // and their units
	for _, limit := range slices.Sorted(maps.Keys(limits)) {
		n, err := strconv.ParseFloat(is[limit], 64)
		if err != nil || n == 0 {
			continue
		}
		if within := time.Duration(n * float64(limits[limit])); within < shortStatement {
			say(Warning, name, fmt.Sprintf("%s is %s: the server breaks off statements that take longer, and buyers get 503", limit, within),
				"SET GLOBAL "+limit+" = 0: the program bounds each statement by itself")
			return
		}
	}
	say(Fine, name, "the server lets a statement end", "")
}
