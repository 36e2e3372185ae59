// Package mysqlconn opens connections to MySQL and MariaDB. Each session gets the settings that the program
// relies on, because a server's defaults are its administrator's:
//
//	connect ─▶ SET NAMES utf8mb4 ─▶ SET autocommit = 1, … ─▶ SET SESSION TRANSACTION …
//
// A server with autocommit=0, for example, rolls back each statement that no transaction surrounds.
package mysqlconn

import (
	"context"
	"database/sql/driver"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// Setting is a variable of a session.
type Setting struct {
	Name  string
	Value string // in SQL
	Shown string // by SHOW VARIABLES; empty if the program can work with other values
}

// Settings returns the settings of each session. Both servers know all of them, and let each user set them.
func Settings() []Setting { return slices.Clone(settings) }

var settings = []Setting{
	{"autocommit", "1", "ON"},
	{"completion_type", "0", "NO_CHAIN"},    // otherwise a commit begins the next transaction, or ends the session
	{"sql_safe_updates", "0", "OFF"},        // otherwise the server refuses updates that name no key
	{"sql_select_limit", noLimit, noLimit},  // otherwise the server cuts results short
	{"sql_big_selects", "1", "ON"},          // otherwise the server refuses to read a whole sale
	{"foreign_key_checks", "1", "ON"},       //
	{"unique_checks", "1", "ON"},            // the unique indexes refuse a user's second order
	{"sql_mode", "'STRICT_ALL_TABLES'", ""}, // otherwise the server cuts what is too long
	{"time_zone", "'+00:00'", ""},           //
	{"wait_timeout", "28800", ""},           // a session that reads a sale may be silent between two pages
}

const noLimit = "18446744073709551615"

// Isolation is the level of a session and Access its access mode. A variable cannot set them on both servers:
// MariaDB 10.11 calls it tx_isolation, and MySQL 8.4 transaction_isolation.
const (
	Isolation = "READ COMMITTED"
	Access    = "READ WRITE"
)

// utf8mb4 is the character set of each connection. The driver escapes parameters for it. In another set, such as
// GBK, a character may end in a backslash, and the quote after it would end the parameter.
var utf8mb4 = mysql.Charset("utf8mb4", "utf8mb4_general_ci")

// NewConnector returns a connector for a DSN. A variable that the DSN itself sets keeps the DSN's value.
func NewConnector(dsn *mysql.Config) (driver.Connector, error) {
	dsn = dsn.Clone()
	if err := dsn.Apply(utf8mb4); err != nil {
		return nil, fmt.Errorf("mysql.dsn: %w", err)
	}
	if dsn.Params == nil {
		dsn.Params = map[string]string{}
	}
	given := slices.Collect(maps.Keys(dsn.Params))
	for _, s := range settings {
		if !slices.ContainsFunc(given, func(name string) bool { return strings.EqualFold(name, s.Name) }) {
			dsn.Params[s.Name] = s.Value
		}
	}
	c, err := mysql.NewConnector(dsn)
	if err != nil {
		return nil, fmt.Errorf("mysql.dsn: %w", err)
	}
	return connector{c}, nil
}

// connector sets the isolation level of each new session.
type connector struct{ driver.Connector }

// Connect opens a session.
//
//nolint:wrapcheck // database/sql needs the driver's own errors
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	exec, ok := conn.(driver.ExecerContext)
	if !ok {
		_ = conn.Close()
		return nil, fmt.Errorf("mysqlconn: the driver's %T cannot execute statements", conn)
	}
	const set = "SET SESSION TRANSACTION ISOLATION LEVEL " + Isolation + ", " + Access
	if _, err := exec.ExecContext(ctx, set, nil); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}
