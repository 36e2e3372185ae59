package store

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/testservers"
	files "example.com/seckill/sql"
)

// schema is every table as the server would make it again.
func schema(t *testing.T, s *subject) (text []string) {
	t.Helper()
	for _, table := range tables(t, s) {
		var name, definition string
		if s.dialect == sqliteDialect {
			var parts []string
			require.NoError(t, s.write.Raw("SELECT name || ': ' || COALESCE(sql, '') FROM sqlite_schema WHERE tbl_name = ? ORDER BY name",
				table).Scan(&parts).Error)
			text = append(text, parts...)
			continue
		}
		require.NoError(t, s.write.Raw("SHOW CREATE TABLE "+table).Row().Scan(&name, &definition))
		text = append(text, definition)
	}
	return text
}

func tables(t *testing.T, s *subject) []string {
	t.Helper()
	names, err := s.write.Migrator().GetTables()
	require.NoError(t, err)
	slices.Sort(names)
	return slices.DeleteFunc(names, func(name string) bool { return name == "goose_db_version" || strings.HasPrefix(name, "sqlite_") })
}

// Most tests begin with a copy of the schema.
func TestTheSchemaThatTestsBeginWithIsTheMigratedOne(t *testing.T) {
	for name, pair := range map[string][2]*subject{
		"MariaDB": {migrated(t, Options{MySQL: testservers.DSN(t)}), onMariaDB(t)},
		"SQLite":  {migrated(t, Options{SQLite: sqliteDSN(t)}), onSQLite(t)},
	} {
		t.Run(name, func(t *testing.T) {
			run, copied := pair[0], pair[1]
			require.Equal(t, schema(t, run), schema(t, copied))
			require.NoError(t, copied.CheckSchema(t.Context()))
			applied, err := copied.Migrate(t.Context())
			require.NoError(t, err)
			require.Empty(t, applied)
			for _, table := range tables(t, run) {
				require.Equal(t, rowsIn(t, run, table), rowsIn(t, copied, table), "rows of %s", table)
			}
			require.NotEqual(t, deployment(t, run), deployment(t, copied))
			require.NotEqual(t, deployment(t, copied), deployment(t, databases[name](t)), "of two copies")
		})
	}
}

func rowsIn(t *testing.T, s *subject, table string) (n int64) {
	t.Helper()
	require.NoError(t, s.write.Table(table).Count(&n).Error)
	return n
}

func deployment(t *testing.T, s *subject) (id string) {
	t.Helper()
	require.NoError(t, s.write.Raw("SELECT id FROM deployment").Row().Scan(&id))
	return id
}

// Each migration was killed once between its change and its version.
func TestAMigrationThatWasKilledIsResumed(t *testing.T) {
	whole := schema(t, migrated(t, Options{MySQL: testservers.DSN(t)}))
	names := every(t, opened(t, Options{MySQL: testservers.DSN(t)}))
	for n, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := testservers.DSN(t)
			s := opened(t, Options{MySQL: dsn})
			p, err := s.migrations()
			require.NoError(t, err)
			_, err = p.UpTo(t.Context(), int64(n+1))
			require.NoError(t, err)
			raw(t, s, "DELETE FROM goose_db_version WHERE version_id = ?", n+1)
			migrateAtOnceFrom(t, names[n:], s, opened(t, Options{MySQL: dsn}))
			require.Equal(t, whole, schema(t, s))
			placed(t, s, onSale(t, s, 1), 1, 1)
		})
	}
}

// Somebody's table is not taken for ours.
func TestATableWithRowsThatNoMigrationMadeIsLeftAlone(t *testing.T) {
	s := opened(t, Options{MySQL: testservers.DSN(t)})
	raw(t, s, "CREATE TABLE orders (number INT)")
	raw(t, s, "INSERT INTO orders VALUES (1)")
	applied, err := s.Migrate(t.Context())
	require.ErrorContains(t, err, "table orders has rows")
	require.Equal(t, []string{"00001_coupons.sql"}, applied)
	var number int
	require.NoError(t, s.write.Raw("SELECT number FROM orders").Scan(&number).Error)
	require.Equal(t, 1, number)
}

func TestAMigrationThatFailsForAnotherReasonIsNotResumed(t *testing.T) {
	s := opened(t, Options{MySQL: testservers.DSN(t)})
	p, err := s.migrations()
	require.NoError(t, err)
	_, err = p.UpTo(t.Context(), 6)
	require.NoError(t, err)
	raw(t, s, "DROP TABLE coupons")
	_, err = s.Migrate(t.Context())
	require.ErrorContains(t, err, "version:7")
	files, err := files.Migrations.ReadDir(string(s.dialect))
	require.NoError(t, err)
	err = s.CheckSchema(t.Context())
	require.ErrorIs(t, err, ErrSchemaOld)
	require.ErrorContains(t, err, fmt.Sprintf("it is 6, this program wants %d", len(files)))
}
