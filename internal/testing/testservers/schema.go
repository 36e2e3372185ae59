package testservers

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	_ "github.com/glebarez/go-sqlite" // the drivers of what is copied
	"github.com/go-sql-driver/mysql"
)

// Migrate makes the schema in an empty database.
type Migrate func(ctx context.Context, dsn string) error

// The schema of each kind of database, made by migrations once in a process.
var (
	mysqlSchema  schema
	sqliteSchema schema
)

// schema is a database that others are copied from.
type schema struct {
	once sync.Once
	from string // its name, or its file
	err  error
}

// MigratedDSN is DSN with the schema in it. All migrations one after the other cost a test more than
// what it tests: they are run once, and then their result is copied, with a deployment of its own.
func MigratedDSN(t testing.TB, migrate Migrate) string {
	t.Helper()
	m := MariaDB(t)
	mysqlSchema.once.Do(func() {
		var name string
		if name, mysqlSchema.err = m.CreateDatabase(t.Context()); mysqlSchema.err == nil {
			mysqlSchema.from, mysqlSchema.err = name, migrate(t.Context(), m.DSN(name))
		}
	})
	check(t, mysqlSchema.err)
	dsn := DSN(t)
	check(t, copyMySQL(t.Context(), mysqlSchema.from, dsn))
	return dsn
}

func copyMySQL(ctx context.Context, from, dsn string) (err error) {
	to, err := mysql.ParseDSN(dsn)
	if err != nil {
		return fmt.Errorf("the database to copy to: %w", err)
	}
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		return fmt.Errorf("the database to copy to: %w", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	tables, err := list(ctx, db, "SELECT table_name FROM information_schema.tables WHERE table_schema = ?", from)
	if err != nil {
		return err
	}
	for _, table := range tables {
		if _, err := db.ExecContext(ctx, fmt.Sprintf("CREATE TABLE `%s`.`%s` LIKE `%s`.`%[2]s`", to.DBName, table, from)); err != nil {
			return fmt.Errorf("copy the table %s: %w", table, err)
		}
	}
	for _, statement := range []string{
		fmt.Sprintf("INSERT INTO goose_db_version (version_id, is_applied) SELECT version_id, is_applied FROM `%s`.goose_db_version ORDER BY id", from),
		"INSERT INTO deployment (id) VALUES (REPLACE(UUID(), '-', ''))",
	} {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("copy the rows of migrations: %w", err)
		}
	}
	return nil
}

func list(ctx context.Context, db *sql.DB, query string, args ...any) (names []string, err error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("list: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close(), rows.Err()) }()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, fmt.Errorf("list: %w", err)
		}
		names = append(names, name)
	}
	return names, nil
}

// CopySQLite puts the schema into the file of an embedded database that nothing has opened yet, as
// MigratedDSN does on MariaDB.
func CopySQLite(t testing.TB, path string, migrate Migrate) {
	t.Helper()
	sqliteSchema.once.Do(func() { sqliteSchema.from, sqliteSchema.err = migratedFile(t.Context(), migrate) })
	check(t, sqliteSchema.err)
	check(t, os.WriteFile(path, []byte(sqliteSchema.from), 0o600))
	db, err := sql.Open("sqlite", "file:"+path)
	check(t, err)
	_, err = db.ExecContext(t.Context(), "UPDATE deployment SET id = lower(hex(randomblob(16)))")
	check(t, errors.Join(err, db.Close()))
}

// migratedFile returns the content of a file with the schema.
func migratedFile(ctx context.Context, migrate Migrate) (content string, err error) {
	dir, err := os.MkdirTemp("", "schema-")
	if err != nil {
		return "", fmt.Errorf("a folder for the schema: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := dir + "/schema.db"
	if err := migrate(ctx, "file:"+path); err != nil { // without a WAL: all is in the file
		return "", err
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("the file with the schema: %w", err)
	}
	return string(b), nil
}
