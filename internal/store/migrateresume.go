package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
)

// Errors of the server for a change that is made already (https://mariadb.com/kb/en/mariadb-error-codes/).
const (
	errTableExists  = 1050
	errColumnExists = 1060
	errKeyExists    = 1061
	errKeyIsGone    = 1091
	errNoTable      = 1146
)

var createdTable = regexp.MustCompile(`(?m)^CREATE TABLE (\w+)`)

// maxResumes bounds how often one run resumes: runs that wait for each other may each meet the same
// change.
const maxResumes = 100

// resumeMigrations applies every migration that is missing. The change of a missing migration may be there already,
// because an earlier run was killed. A statement that defines a table commits by itself, before the version is written.
func resumeMigrations(
	ctx context.Context, p *goose.Provider, pool *sql.DB, folder fs.FS, lock migrationLock,
) (applied []string, err error) {
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
		written, err := resume(ctx, pool, folder, lock, failed)
		if err != nil {
			return applied, err
		}
		if written {
			applied = append(applied, failed.Failed.Source.Path)
		}
	}
}

// resume clears the way after a migration that failed because its change is there already. For another failure it
// returns the error. It reports whether it wrote the version. If it did not, the caller tries the migration again.
//
// A change of a table is whole or not made. Tables without a version have no rows, and are dropped, so that they get
// the columns that this program knows.
func resume(
	ctx context.Context, pool *sql.DB, folder fs.FS, lock migrationLock, failed *goose.PartialError,
) (written bool, err error) {
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
		return false, dropEmpty(ctx, conn, folder, failed)
	case errColumnExists, errKeyExists, errKeyIsGone:
		if err := versions.Insert(ctx, conn, database.InsertRequest{Version: version}); err != nil {
			return false, fmt.Errorf("write version %d: %w", version, err)
		}
		return true, nil
	}
	return false, failed
}

// dropEmpty drops all tables that the failed migration makes, unless one of them has rows.
func dropEmpty(ctx context.Context, conn *sql.Conn, folder fs.FS, failed *goose.PartialError) error {
	text, err := fs.ReadFile(folder, failed.Failed.Source.Path)
	if err != nil {
		return errors.Join(failed, err)
	}
	made := createdTable.FindAllStringSubmatch(string(text), -1)
	if len(made) == 0 {
		return failed
	}
	var tables []string
	for _, match := range made {
		table := match[1]
		var rows int
		err := conn.QueryRowContext(ctx, "SELECT COUNT(*) FROM (SELECT 1 FROM "+table+" LIMIT 1) AS first_row").Scan(&rows)
		var refused *mysql.MySQLError
		switch {
		case errors.As(err, &refused) && refused.Number == errNoTable:
			continue
		case err != nil:
			return errors.Join(failed, err)
		case rows > 0:
			return fmt.Errorf("table %s has rows, and no migration has written that it made it: "+
				"use an empty database, or move it away: %w", table, failed)
		}
		tables = append(tables, table)
	}
	if len(tables) == 0 {
		return nil // another run has dropped them
	}
	if _, err := conn.ExecContext(ctx, "DROP TABLE "+strings.Join(tables, ", ")); err != nil {
		return errors.Join(failed, err)
	}
	return nil
}
