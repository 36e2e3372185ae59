package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"

	"github.com/go-sql-driver/mysql"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
)

// What the server says of a change that is made already (https://mariadb.com/kb/en/mariadb-error-codes/).
const (
	errTableExists  = 1050
	errColumnExists = 1060
	errKeyExists    = 1061
	errKeyIsGone    = 1091
	errNoTable      = 1146
)

var tableOfMessage = regexp.MustCompile(`'(?:[^']*\.)?(\w+)'`)

// maxResumes bounds how often one run resumes: runs that wait for each other may each meet the same
// change.
const maxResumes = 100

// resumeMigrations applies every migration that is missing, also one whose change is there already
// because an earlier run was killed: a statement that defines a table commits by itself, before its
// version is written.
func resumeMigrations(ctx context.Context, p *goose.Provider, pool *sql.DB, lock migrationLock) (applied []string, err error) {
	for resumes := 0; ; resumes++ {
		results, err := p.Up(ctx)
		var failed *goose.PartialError
		isPartial := errors.As(err, &failed)
		if isPartial {
			results = failed.Applied
		}
		for _, r := range results {
			applied = append(applied, r.Source.Path)
		}
		if !isPartial || resumes == maxResumes {
			return applied, err //nolint:wrapcheck // Migrate does
		}
		written, err := resume(ctx, pool, lock, failed)
		if err != nil {
			return applied, err
		}
		if written {
			applied = append(applied, failed.Failed.Source.Path)
		}
	}
}

// resume clears the way after a migration that failed because its change is there already, or returns why
// it failed. It reports whether it wrote the version; where it did not, the migration is to be tried again.
//
// A change of a table is whole or not made. A table without a version has no rows yet, and is dropped, so
// that it gets the columns that this program knows.
func resume(ctx context.Context, pool *sql.DB, lock migrationLock, failed *goose.PartialError) (written bool, err error) {
	var refusal *mysql.MySQLError
	if !errors.As(failed.Err, &refusal) {
		return false, failed
	}
	conn, err := pool.Conn(ctx)
	if err != nil {
		return false, errors.Join(failed, err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if err := lock.SessionLock(ctx, conn); err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, lock.SessionUnlock(ctx, conn)) }()

	versions, err := database.NewStore(database.DialectMySQL, goose.DefaultTablename)
	if err != nil {
		return false, fmt.Errorf("migrations: %w", err)
	}
	version := failed.Failed.Source.Version
	switch last, err := versions.GetLatestVersion(ctx, conn); {
	case err != nil:
		return false, errors.Join(failed, err)
	case last >= version:
		return false, nil // another run has, since this one gave the lock back
	}
	switch refusal.Number {
	case errTableExists:
		return false, dropEmpty(ctx, conn, refusal, failed)
	case errColumnExists, errKeyExists, errKeyIsGone:
		if err := versions.Insert(ctx, conn, database.InsertRequest{Version: version}); err != nil {
			return false, fmt.Errorf("write version %d: %w", version, err)
		}
		return true, nil
	}
	return false, failed
}

// dropEmpty drops the table that the refusal names, unless it has rows.
func dropEmpty(ctx context.Context, conn *sql.Conn, refusal *mysql.MySQLError, failed error) error {
	named := tableOfMessage.FindStringSubmatch(refusal.Message)
	if named == nil {
		return failed
	}
	table := "`" + named[1] + "`" // of the server's own words
	var rows int
	err := conn.QueryRowContext(ctx, "SELECT COUNT(*) FROM (SELECT 1 FROM "+table+" LIMIT 1) AS first_row").Scan(&rows)
	var refused *mysql.MySQLError
	if errors.As(err, &refused) && refused.Number == errNoTable {
		return nil // another run has dropped it
	}
	if err != nil {
		return errors.Join(failed, err)
	}
	if rows > 0 {
		return fmt.Errorf("table %s has rows, and no migration has written that it made it: "+
			"use an empty database, or move it away: %w", named[1], failed)
	}
	if _, err := conn.ExecContext(ctx, "DROP TABLE "+table); err != nil {
		return errors.Join(failed, err)
	}
	return nil
}
