package preflight

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Database is the name of the database's server in the findings.
const Database = "database"

// MySQL looks at the server that should take the orders. An instance opens that many connections to it. The error is
// that it did not answer.
func (f *Findings) MySQL(ctx context.Context, db *sql.DB, connections int) error {
	say := f.about(Database)
	is, err := variables(ctx, db)
	if err != nil {
		return err
	}
	primary, err := mayWrite(ctx, db, is, say)
	if err != nil {
		return err
	}
	durability(is, say)
	semiSync(is, say)
	if err := sessionSettings(ctx, db, say); err != nil {
		return err
	}
	if err := sessions(ctx, db, is, connections, say); err != nil || !primary {
		return err
	}
	return tables(ctx, db, say)
}

// variables reads the server's settings, of which each kind of server has others.
func variables(ctx context.Context, db *sql.DB) (map[string]string, error) {
	is := map[string]string{}
	return is, each(ctx, db, `SHOW GLOBAL VARIABLES WHERE Variable_name IN ('read_only', 'super_read_only', 'log_bin', 'binlog_format',
		'sync_binlog', 'innodb_flush_log_at_trx_commit', 'max_connections',
		'rpl_semi_sync_master_enabled', 'rpl_semi_sync_master_timeout', 'rpl_semi_sync_master_wait_point',
		'rpl_semi_sync_source_enabled', 'rpl_semi_sync_source_timeout', 'rpl_semi_sync_source_wait_point')`, func(row map[string]string) {
		is[strings.ToLower(row["variable_name"])] = row["value"]
	})
}

// each calls do with every row, by the columns' names in lower case.
func each(ctx context.Context, db *sql.DB, query string, do func(row map[string]string)) error {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return fmt.Errorf("%s: %w", query, err)
	}
	defer func() { _ = rows.Close() }() // Err has told by then
	columns, err := rows.Columns()
	if err != nil {
		return fmt.Errorf("%s: %w", query, err)
	}
	values := make([]sql.NullString, len(columns))
	to := make([]any, len(columns))
	for i := range values {
		to[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(to...); err != nil {
			return fmt.Errorf("%s: %w", query, err)
		}
		row := map[string]string{}
		for i, column := range columns {
			row[strings.ToLower(column)] = values[i].String
		}
		do(row)
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("%s: %w", query, err)
	}
	return nil
}

// mayWrite reports whether the server is a primary.
func mayWrite(ctx context.Context, db *sql.DB, is map[string]string, say func(Level, string, string, string)) (bool, error) {
	const name = "role"
	for _, variable := range []string{"super_read_only", "read_only"} {
		if v := is[variable]; v != "" && v != "OFF" && v != "0" {
			say(Refused, name, variable+" is "+v+": it takes no orders",
				"set mysql.dsn to the primary; if this is it, SET GLOBAL "+variable+" = OFF")
			return false, nil
		}
	}
	from, err := replicaOf(ctx, db)
	number, answered := code(err)
	switch {
	case err != nil && !answered:
		return false, err
	case slices.Contains([]uint16{lacksPrivilege, tableDenied}, number):
		say(Fine, name, "read_only is OFF; the user lacks the right to see whether it is a replica", "")
	case err != nil:
		say(Warning, name, "read_only is OFF; whether it is a replica is unknown: "+firstLine(err),
			"run SHOW REPLICA STATUS on the server: on a replica that runs orders would be lost")
	case from != "":
		say(Refused, name, "it is a replica of "+from+": what is written here is not there",
			"set mysql.dsn to the primary, or STOP REPLICA and RESET REPLICA ALL if this is it now")
		return false, nil
	default:
		say(Fine, name, "read_only is OFF, and it is no replica", "")
	}
	return true, nil
}

// replicaOf returns the server that this one applies changes of, or "". MySQL 8.4 knows the new words only, MariaDB
// before 10.5.1 and MySQL before 8.0.22 the old ones. MariaDB answers both questions in the old words.
func replicaOf(ctx context.Context, db *sql.DB) (from string, err error) {
	for _, query := range []string{"SHOW REPLICA STATUS", "SHOW SLAVE STATUS"} {
		err = each(ctx, db, query, func(row map[string]string) {
			if cmp.Or(row["replica_sql_running"], row["slave_sql_running"]) != "No" {
				from = cmp.Or(row["source_host"], row["master_host"]) + ":" + cmp.Or(row["source_port"], row["master_port"])
			}
		})
		if number, _ := code(err); number != syntaxError {
			break
		}
	}
	return from, err
}

func durability(is map[string]string, say func(Level, string, string, string)) {
	const name = "durability"
	logs := is["log_bin"] == "ON" || is["log_bin"] == "1"
	flush, sync := is["innodb_flush_log_at_trx_commit"], is["sync_binlog"]
	switch {
	case flush != "1":
		say(Warning, name, "innodb_flush_log_at_trx_commit is "+flush+": a crash of the machine loses orders that were acknowledged",
			"SET GLOBAL innodb_flush_log_at_trx_commit = 1")
	case logs && sync != "1":
		say(Warning, name, "sync_binlog is "+sync+": after a crash of the machine the replicas may lack acknowledged orders",
			"SET GLOBAL sync_binlog = 1")
	default:
		say(Fine, name, "each commit is on the disk before it is answered", "")
	}
	// Orders are written at READ COMMITTED. A replica cannot replay their statements, only their rows.
	if logs && is["binlog_format"] == "STATEMENT" {
		say(Refused, "isolation", "binlog_format is STATEMENT: no transaction at READ COMMITTED may write",
			"SET GLOBAL binlog_format = 'MIXED' or 'ROW'")
		return
	}
	say(Fine, "isolation", "transactions at READ COMMITTED may write", "")
}

// aDay is so long that a replica which is away for it was noticed, in milliseconds.
const aDay = 24 * 60 * 60 * 1000

// semiSync looks at the promises of a semi-synchronous primary. MySQL calls it a source.
func semiSync(is map[string]string, say func(Level, string, string, string)) {
	const name = "replication"
	for _, role := range []string{"master", "source"} {
		of := "rpl_semi_sync_" + role
		if on := is[of+"_enabled"]; on != "ON" && on != "1" {
			continue
		}
		timeout, err := strconv.ParseUint(is[of+"_timeout"], 10, 64)
		switch point := is[of+"_wait_point"]; {
		case err != nil || timeout < aDay:
			say(Warning, name, of+"_timeout is "+is[of+"_timeout"]+" ms: from then on orders are acknowledged that no replica has",
				"SET GLOBAL "+of+"_timeout = 18446744073709551615, or know that they are lost with this server")
		case point != "AFTER_SYNC":
			say(Warning, name, of+"_wait_point is "+point+": orders are read before a replica has them",
				"SET GLOBAL "+of+"_wait_point = AFTER_SYNC")
		default:
			say(Fine, name, "no order is acknowledged before a replica has it", "")
		}
	}
}

// sessions compares the connections that an instance needs with the limits of the server and of the account. The
// session's max_user_connections is the account's, and 0 if the account has none.
func sessions(ctx context.Context, db *sql.DB, is map[string]string, need int, say func(Level, string, string, string)) error {
	var used, mine, ours int64
	most := number(is["max_connections"])
	err := errors.Join(
		each(ctx, db, "SHOW GLOBAL STATUS LIKE 'Threads_connected'", func(row map[string]string) { used = number(row["value"]) }),
		each(ctx, db, "SHOW SESSION VARIABLES LIKE 'max_user_connections'", func(row map[string]string) { mine = number(row["value"]) }),
	)
	if err == nil && mine > 0 {
		err = each(ctx, db, "SELECT COUNT(*) AS open FROM information_schema.processlist WHERE user = SUBSTRING_INDEX(USER(), '@', 1)",
			func(row map[string]string) { ours = number(row["open"]) })
	}
	if err != nil {
		return err
	}
	of, remedy := "max_connections", "lower mysql.max_open or raise max_connections"
	if mine > 0 && mine-ours < most-used {
		most, used, of, remedy = mine, ours, "max_user_connections of the account", "lower mysql.max_open or raise the account's limit"
	}
	about := fmt.Sprintf("%s is %d, %d are open, an instance needs up to %d", of, most, used, need)
	say(room(int64(need), used, most), "connections", about, remedy)
	return nil
}
