package servers

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// DSN returns the data source name of the database for go-sql-driver, or of none if the name is
// empty: user root, 2 s to connect, 5 s for each read and write, times in UTC.
func (m *MariaDB) DSN(database string) string {
	return "root@tcp(" + m.Addr() + ")/" + database +
		"?charset=utf8mb4&parseTime=true&loc=UTC&timeout=2s&readTimeout=5s&writeTimeout=5s"
}

// CreateDatabase creates an empty utf8mb4 database with a unique name.
func (m *MariaDB) CreateDatabase(ctx context.Context) (name string, err error) {
	name = "db_" + strings.ToLower(rand.Text())
	if err := m.exec(ctx, "CREATE DATABASE "+name+" CHARACTER SET utf8mb4"); err != nil {
		return "", fmt.Errorf("create database %s: %w", name, err)
	}
	return name, nil
}

// DropDatabase removes a database that CreateDatabase created, with all its data.
func (m *MariaDB) DropDatabase(ctx context.Context, name string) error {
	if err := m.exec(ctx, "DROP DATABASE IF EXISTS "+name); err != nil {
		return fmt.Errorf("drop database %s: %w", name, err)
	}
	return nil
}

func (m *MariaDB) ping(ctx context.Context) error { return m.exec(ctx, "DO 1") }

// exec runs one statement on a connection of its own.
func (m *MariaDB) exec(ctx context.Context, statement string) error {
	return m.with(func(db *sql.DB) error {
		_, err := db.ExecContext(ctx, statement)
		return err //nolint:wrapcheck // the callers say what it was for
	})
}

// with calls do with the server, and closes it.
func (m *MariaDB) with(do func(db *sql.DB) error) error {
	db, err := OpenDatabase(m.DSN(""))
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }() // nothing is kept in it
	return do(db)
}

var errBadDSN = errors.New("the DSN cannot be parsed") // the driver's error may quote the password

// OpenDatabase opens a pool on a database whose driver logs nothing: a starting server refuses at first, and tests
// break connections on purpose.
func OpenDatabase(dsn string) (*sql.DB, error) {
	config, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, errBadDSN
	}
	config.Logger = &mysql.NopLogger{}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, fmt.Errorf("use the DSN: %w", err)
	}
	return sql.OpenDB(connector), nil
}
