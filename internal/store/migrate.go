package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"

	"github.com/pressly/goose/v3"
)

// Why the schema does not suit the program.
var (
	ErrSchemaOld    = errors.New("the database's schema is older than this program: run seckill migrate")
	ErrSchemaNew    = errors.New("the database's schema is newer than this program: run a newer seckill")
	ErrSchemaTooOld = errors.New("the database's schema is too old for this program")
)

func (s *Store) migrations() (*goose.Provider, error) { return s.migrationsOn(s.pools[0]) }

// migrationFolder holds the migrations of the store's dialect.
func (s *Store) migrationFolder() (fs.FS, error) {
	folder, err := fs.Sub(s.migrationFiles, string(s.dialect))
	if err != nil {
		return nil, fmt.Errorf("migrations: %w", err)
	}
	return folder, nil
}

func (s *Store) migrationsOn(pool *sql.DB) (*goose.Provider, error) {
	folder, err := s.migrationFolder()
	if err != nil {
		return nil, err
	}
	dialect, options := goose.DialectMySQL, []goose.ProviderOption{
		goose.WithDisableGlobalRegistry(true), goose.WithSessionLocker(migrationLock{s.log}),
	}
	if s.dialect == sqliteDialect {
		dialect, options = goose.DialectSQLite3, options[:1]
	}
	p, err := goose.NewProvider(dialect, pool, folder, options...)
	if err != nil {
		return nil, fmt.Errorf("migrations: %w", err)
	}
	return p, nil
}

// Migrate brings the schema up to date and names the migrations that it applied. Two at once wait for each other, and
// the next resumes one that was killed. It has a connection of its own, without the limits of those that orders are
// made on: to alter a large table takes as long as it takes.
func (s *Store) Migrate(ctx context.Context) (applied []string, err error) {
	pool := s.pools[0]
	if s.migrationConnector != nil {
		pool = sql.OpenDB(s.migrationConnector)
		defer func() { err = errors.Join(err, pool.Close()) }()
	}
	p, err := s.migrationsOn(pool)
	if err != nil {
		return nil, err
	}
	current, err := p.GetDBVersion(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the schema's version: %w", err)
	}
	if err := checkVersion(p, current); err != nil && !errors.Is(err, ErrSchemaOld) {
		return nil, err
	}
	folder, err := s.migrationFolder()
	if err != nil {
		return nil, err
	}
	applied, err = resumeMigrations(ctx, p, pool, folder, migrationLock{s.log})
	if err != nil {
		return applied, fmt.Errorf("migrate: %w", err)
	}
	return applied, nil
}

// checkVersion returns nil if the schema's version is that of the latest migration. Migrate can upgrade a schema with
// ErrSchemaOld. It cannot upgrade one with ErrSchemaTooOld, whose next migration the program does not have.
func checkVersion(p *goose.Provider, current int64) error {
	sources := p.ListSources()
	first, latest := sources[0].Version, sources[len(sources)-1].Version
	switch {
	case current > 0 && current < first:
		return fmt.Errorf("%w: first run seckill migrate of an earlier revision, with a build that still has migrations 1 to %d "+
			"(it is %d, this program starts at %d)", ErrSchemaTooOld, first-1, current, first)
	case current < latest:
		return fmt.Errorf("%w (it is %d, this program wants %d)", ErrSchemaOld, current, latest)
	case current > latest:
		return fmt.Errorf("%w (it is %d, this program wants %d)", ErrSchemaNew, current, latest)
	}
	return nil
}

// migrationLock is a named lock of the server, held by the connection that migrates,
// so that one connection is enough. SQLite needs none: it is this process's own.
type migrationLock struct{ log *slog.Logger }

// migrationLockName is the name in SQL. A name may have 64 characters, and so may that of a database.
const migrationLockName = "IF(CHAR_LENGTH(DATABASE()) > 56, CONCAT('seckill.', SHA2(DATABASE(), 224)), CONCAT(DATABASE(), '.seckill'))"

// SessionLock waits for the lock until ctx ends, and logs that it waits. Altering a large table takes long. The
// server also finishes the statement of a killed migration before it lets the next one in. It waits in short turns,
// because the driver would give up reading before the server gives up waiting.
func (l migrationLock) SessionLock(ctx context.Context, conn *sql.Conn) error {
	const lock = "SELECT GET_LOCK(" + migrationLockName + ", 1), IS_USED_LOCK(" + migrationLockName + ")"
	for told := false; ; told = true {
		var got, holder sql.NullInt64
		if err := conn.QueryRowContext(ctx, lock).Scan(&got, &holder); err != nil {
			return fmt.Errorf("lock the migrations: %w", err)
		}
		if got.Int64 == 1 {
			return nil
		}
		if !told {
			l.log.InfoContext(ctx, "another migration is running, or was killed and the server has not ended its statement: waiting for it",
				"connection", holder.Int64)
		}
	}
}

// SessionUnlock lets the next one migrate.
func (migrationLock) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	if _, err := conn.ExecContext(ctx, "DO RELEASE_LOCK("+migrationLockName+")"); err != nil {
		return fmt.Errorf("unlock the migrations: %w", err)
	}
	return nil
}

// CheckSchema returns ErrSchemaOld, ErrSchemaNew or ErrSchemaTooOld if the schema is not this program's.
func (s *Store) CheckSchema(ctx context.Context) error {
	p, err := s.migrations()
	if err != nil {
		return err
	}
	current, err := s.version(ctx)
	if err != nil {
		return err
	}
	return checkVersion(p, current)
}

// version reads goose's table without making it: a check changes nothing.
func (s *Store) version(ctx context.Context) (int64, error) {
	if !s.read.WithContext(ctx).Migrator().HasTable(goose.DefaultTablename) {
		if err := s.Ping(ctx); err != nil {
			return 0, err
		}
		return 0, nil
	}
	var version sql.NullInt64
	err := s.read.WithContext(ctx).Table(goose.DefaultTablename).
		Where("is_applied = ?", true).Select("MAX(version_id)").Scan(&version).Error
	if err != nil {
		return 0, fmt.Errorf("read the schema's version: %w", err)
	}
	return version.Int64, nil
}
