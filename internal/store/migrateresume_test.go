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
func TestSchema_OfTests_IsTheMigratedOne(t *testing.T) {
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

// laterMigrations change the schema in each way that a killed migration can be resumed after.
var laterMigrations = []string{
	"CREATE TABLE later (id BIGINT NOT NULL, PRIMARY KEY (id));",
	"ALTER TABLE later ADD COLUMN name INT NOT NULL DEFAULT 0;",
	"ALTER TABLE later ADD KEY later_name (name);",
	"ALTER TABLE stock_returns DROP KEY stock_returns_epoch;",
	"ALTER TABLE orders DROP KEY orders_user, ADD KEY orders_user (user_id, id, status);",
	"INSERT INTO later (id) SELECT 1 FROM (SELECT 1) AS one WHERE NOT EXISTS (SELECT 1 FROM later);",
	"CREATE TABLE one (id BIGINT NOT NULL);\nCREATE TABLE two (id BIGINT NOT NULL);\nCREATE TABLE three (id BIGINT NOT NULL);",
}

// Each migration is killed once between its change and its version. The change of migration 18 ends with its version.
func TestMigrate_Killed_IsResumed(t *testing.T) {
	open := func(t *testing.T, dsn string) *subject {
		s := opened(t, Options{MySQL: dsn})
		withMigrations(t, s, laterMigrations...)
		return s
	}
	complete := open(t, testservers.DSN(t))
	names := every(t, complete)
	_, err := complete.Migrate(t.Context())
	require.NoError(t, err)
	whole := schema(t, complete)
	for n, name := range names {
		if n == 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := testservers.DSN(t)
			s := open(t, dsn)
			version := latest(t, s) - int64(len(names)-1-n)
			atVersion(t, s, version)
			raw(t, s, "DELETE FROM goose_db_version WHERE version_id = ?", version)
			migrateAtOnceFrom(t, names[n:], s, open(t, dsn))
			require.Equal(t, whole, schema(t, s))
			placed(t, s, onSale(t, s, 1), 1, 1)
		})
	}
}

// Migration 18 is killed after each of its statements. Its last statement is a row, which the server rolls back.
func TestMigrate_SchemaIsHalfMade_MakesItAgain(t *testing.T) {
	whole := schema(t, onMariaDB(t))
	text, err := files.Migrations.ReadFile("mysql/00018_schema.sql")
	require.NoError(t, err)
	statements := strings.SplitAfter(string(text), ";\n")
	statements = statements[:len(statements)-1]
	require.Contains(t, statements[len(statements)-1], "INSERT INTO deployment")
	for n := 1; n <= len(statements); n++ {
		t.Run(fmt.Sprintf("%d statements", n), func(t *testing.T) {
			t.Parallel()
			s := opened(t, Options{MySQL: testservers.DSN(t)})
			killed := session(t, s, statements[:n]...)
			require.NoError(t, killed.Rollback())
			applied, err := s.Migrate(t.Context())
			require.NoError(t, err)
			require.Equal(t, every(t, s), applied)
			require.Equal(t, whole, schema(t, s))
			require.EqualValues(t, 1, rowsIn(t, s, "deployment"))
			placed(t, s, onSale(t, s, 1), 1, 1)
		})
	}
}

// A table with rows belongs to another program. The run changes no table then.
func TestMigrate_ForeignTableWithRows_IsKept(t *testing.T) {
	s := opened(t, Options{MySQL: testservers.DSN(t)})
	raw(t, s, "CREATE TABLE orders (number INT)")
	raw(t, s, "INSERT INTO orders VALUES (1)")
	for range 2 {
		applied, err := s.Migrate(t.Context())
		require.ErrorContains(t, err, "table orders has rows")
		require.Empty(t, applied)
		require.Equal(t, []string{"coupons", "orders"}, tables(t, s))
	}
	var number int
	require.NoError(t, s.write.Raw("SELECT number FROM orders").Scan(&number).Error)
	require.Equal(t, 1, number)
	raw(t, s, "DROP TABLE orders") // the operator moves it away
	applied, err := s.Migrate(t.Context())
	require.NoError(t, err)
	require.Equal(t, every(t, s), applied)
}

func TestMigrate_FailedForOtherReason_IsNotResumed(t *testing.T) {
	s := onMariaDB(t)
	last := latest(t, s)
	withMigrations(t, s, "ALTER TABLE nosuch ADD COLUMN name INT;")
	_, err := s.Migrate(t.Context())
	require.ErrorContains(t, err, fmt.Sprintf("version:%d", last+1))
	err = s.CheckSchema(t.Context())
	require.ErrorIs(t, err, ErrSchemaOld)
	require.ErrorContains(t, err, fmt.Sprintf("it is %d, this program wants %d", last, last+1))
}
