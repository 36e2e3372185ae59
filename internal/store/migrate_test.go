package store

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/testservers"
	"example.com/seckill/internal/tools/servers"
	files "example.com/seckill/sql"
)

// emptyBoth runs a test on each database with nothing in it.
func emptyBoth(t *testing.T, test func(t *testing.T, s *subject)) {
	t.Run("MariaDB", func(t *testing.T) { test(t, opened(t, Options{MySQL: testservers.DSN(t)})) })
	t.Run("SQLite", func(t *testing.T) { test(t, opened(t, Options{SQLite: sqliteDSN(t)})) })
}

// every names the files of the store's dialect, in their order.
func every(t *testing.T, s *subject) (names []string) {
	t.Helper()
	found, err := fs.ReadDir(s.migrationFiles, string(s.dialect))
	require.NoError(t, err)
	for _, f := range found {
		names = append(names, f.Name())
	}
	return names
}

// latest is the version of the last migration.
func latest(t *testing.T, s *subject) int64 {
	t.Helper()
	p, err := s.migrations()
	require.NoError(t, err)
	sources := p.ListSources()
	return sources[len(sources)-1].Version
}

// withMigrations gives the store later migrations, each an SQL text, after those of the program.
func withMigrations(t *testing.T, s *subject, texts ...string) {
	t.Helper()
	all := fstest.MapFS{}
	for _, name := range every(t, s) {
		path := string(s.dialect) + "/" + name
		text, err := files.Migrations.ReadFile(path)
		require.NoError(t, err)
		all[path] = &fstest.MapFile{Data: text}
	}
	next := latest(t, s)
	for n, text := range texts {
		all[fmt.Sprintf("%s/%05d_later.sql", s.dialect, next+1+int64(n))] = &fstest.MapFile{Data: []byte("-- +goose Up\n" + text)}
	}
	s.migrationFiles = all
}

func TestMigrate_Twice_IsOnce(t *testing.T) {
	emptyBoth(t, func(t *testing.T, s *subject) {
		applied, err := s.Migrate(t.Context())
		require.NoError(t, err)
		require.Equal(t, every(t, s), applied)
		onSale(t, s, 5)
		applied, err = s.Migrate(t.Context())
		require.NoError(t, err)
		require.Empty(t, applied)
		found, err := s.Coupons().List(t.Context(), 0, 10)
		require.NoError(t, err)
		require.Len(t, found, 1, "the data stays")
	})
}

func TestMigrate_TwoAtOnce_OneDoesTheWork(t *testing.T) {
	t.Run("MariaDB, two programs", func(t *testing.T) {
		dsn := testservers.DSN(t)
		migrateAtOnce(t, opened(t, Options{MySQL: dsn}), opened(t, Options{MySQL: dsn}))
	})
	t.Run("SQLite, one program", func(t *testing.T) {
		s := opened(t, Options{SQLite: sqliteDSN(t)})
		migrateAtOnce(t, s, s)
	})
}

func migrateAtOnce(t *testing.T, stores ...*subject) {
	t.Helper()
	migrateAtOnceFrom(t, every(t, stores[0]), stores...)
}

// migrateAtOnceFrom is migrateAtOnce where only some are missing.
func migrateAtOnceFrom(t *testing.T, missing []string, stores ...*subject) {
	t.Helper()
	applied := make([][]string, len(stores))
	var migrations []func() error
	for i, s := range stores {
		migrations = append(migrations, func() (err error) {
			applied[i], err = s.Migrate(t.Context())
			return err
		})
	}
	for _, err := range together(migrations...) {
		require.NoError(t, err)
	}
	require.ElementsMatch(t, missing, append(applied[0], applied[1]...))
	require.NoError(t, stores[0].CheckSchema(t.Context()))
}

func TestMigrate_OneConnection_IsEnough(t *testing.T) {
	s := opened(t, Options{MySQL: testservers.DSN(t), MaxOpen: 1, MaxIdle: 1})
	_, err := s.Migrate(t.Context())
	require.NoError(t, err)
	require.Zero(t, s.Pool().Stats().InUse)
}

// It is waited for however long it takes, and until the operator has enough of it.
func TestMigrate_AnotherRunning_WaitsAndSaysSo(t *testing.T) {
	log := &told{}
	s := opened(t, Options{MySQL: testservers.DSN(t), Log: slog.New(log)})
	other := session(t, s, "SELECT GET_LOCK(CONCAT(DATABASE(), '.seckill'), 0)")
	migrate := func(ctx context.Context) <-chan error {
		done := make(chan error, 1)
		go func() {
			_, err := s.Migrate(ctx)
			done <- err
		}()
		var n int
		require.Eventually(t, func() bool {
			row := other.QueryRow("SELECT COUNT(*) FROM information_schema.processlist WHERE state = 'User lock' AND db = DATABASE()")
			return row.Scan(&n) == nil && n == 1
		}, patient, pollEvery)
		require.Empty(t, done)
		return done
	}
	ctx, leave := context.WithCancel(t.Context())
	done := migrate(ctx)
	require.Eventually(t, func() bool { return log.count.Load() == 1 }, patient, pollEvery, "it does not say that it waits")
	leave()
	require.ErrorIs(t, <-done, context.Canceled)

	done = migrate(t.Context())
	time.Sleep(2500 * time.Millisecond) // it asks for a second at a time
	require.Empty(t, done)
	_, err := other.Exec("DO RELEASE_LOCK(CONCAT(DATABASE(), '.seckill'))")
	require.NoError(t, err)
	require.NoError(t, <-done)
}

// told counts what is logged.
type told struct {
	slog.Handler
	count atomic.Int64
}

func (*told) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

func (l *told) Handle(context.Context, slog.Record) error {
	l.count.Add(1)
	return nil
}

func TestSchema_Differs_IsReported(t *testing.T) {
	emptyBoth(t, func(t *testing.T, s *subject) {
		err := s.CheckSchema(t.Context())
		require.ErrorIs(t, err, ErrSchemaOld, "absent")
		require.ErrorContains(t, err, "run seckill migrate")
		require.False(t, s.write.Migrator().HasTable("goose_db_version"), "a check changes nothing")

		_, err = s.Migrate(t.Context())
		require.NoError(t, err)
		require.NoError(t, s.CheckSchema(t.Context()))

		raw(t, s, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, 1)")
		err = s.CheckSchema(t.Context())
		require.ErrorIs(t, err, ErrSchemaNew)
		last := latest(t, s)
		require.ErrorContains(t, err, fmt.Sprintf("it is 99, this program wants %d", last))
		_, err = s.Migrate(t.Context())
		require.ErrorIs(t, err, ErrSchemaNew, "a newer schema is not touched")

		raw(t, s, "DELETE FROM goose_db_version WHERE version_id IN (99, ?)", last)
		err = s.CheckSchema(t.Context())
		require.ErrorIs(t, err, ErrSchemaOld)
		require.ErrorContains(t, err, fmt.Sprintf("it is %d, this program wants %d", last-1, last))
	})
}

// The migrations 1 to 17 are gone. If the program ran migration 18 on such a database, it would drop empty tables.
func TestMigrate_VersionBeforeTheFirstMigration_IsRefused(t *testing.T) {
	emptyBoth(t, func(t *testing.T, s *subject) {
		raw(t, s, "CREATE TABLE coupons (number INT)") // as an earlier version made it
		p, err := s.migrations()
		require.NoError(t, err)
		_, err = p.GetDBVersion(t.Context()) // makes the table of versions
		require.NoError(t, err)
		for version := 1; version <= 17; version++ {
			raw(t, s, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (?, 1)", version)
			if version > 1 && version < 17 {
				continue
			}
			applied, migrated := s.Migrate(t.Context())
			require.Empty(t, applied)
			for _, err := range []error{migrated, s.CheckSchema(t.Context())} {
				require.ErrorIs(t, err, ErrSchemaTooOld)
				require.EqualError(t, err, "the database's schema is too old for this program: first run seckill migrate of an "+
					"earlier revision, with a build that still has migrations 1 to 17 "+
					fmt.Sprintf("(it is %d, this program starts at 18)", version))
			}
			require.Equal(t, []string{"coupons"}, tables(t, s), "the database is not touched")
		}
	})
}

// An ALTER of a large table takes longer than any order may. Here it waits for a
// transaction that has read the table.
func TestMigrate_SlowStep_MayExceedOrderTimeout(t *testing.T) {
	dsn := migratedDSN(t)
	s := opened(t, Options{MySQL: dsn})
	hurried := opened(t, Options{MySQL: dsn + "&readTimeout=200ms", TxTimeout: 200 * time.Millisecond})
	withMigrations(t, hurried, "ALTER TABLE stock_returns ADD KEY stock_returns_coupon (coupon_id);")
	reading := session(t, s, "SELECT order_id FROM stock_returns")
	done := make(chan error, 1)
	go func() {
		_, err := hurried.Migrate(t.Context())
		done <- err
	}()
	select {
	case err := <-done:
		t.Fatalf("it did not wait for the table: %v", err)
	case <-time.After(time.Second): // several times what the DSN gives an answer
	}
	require.NoError(t, reading.Rollback())
	require.NoError(t, <-done)
	require.NoError(t, hurried.CheckSchema(t.Context()))
}

func TestMigrate_DatabaseNameOf64Characters_IsLocked(t *testing.T) {
	m := testservers.MariaDB(t)
	root, err := servers.OpenDatabase(m.DSN(""))
	require.NoError(t, err)
	defer func() { require.NoError(t, root.Close()) }()
	name := strings.Repeat("d", 64)
	_, err = root.ExecContext(t.Context(), "CREATE DATABASE "+name)
	require.NoError(t, err)
	defer func() { require.NoError(t, m.DropDatabase(t.Context(), name)) }()
	s := opened(t, Options{MySQL: m.DSN(name)})
	conn, err := s.pools[0].Conn(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()
	require.NoError(t, migrationLock{s.log}.SessionLock(t.Context(), conn))
	var length int
	require.NoError(t, conn.QueryRowContext(t.Context(), "SELECT CHAR_LENGTH("+migrationLockName+")").Scan(&length))
	require.LessOrEqual(t, length, 64, "MySQL refuses longer names (3057)")
	require.NoError(t, migrationLock{s.log}.SessionUnlock(t.Context(), conn))
	_, err = s.Migrate(t.Context())
	require.NoError(t, err)
}
