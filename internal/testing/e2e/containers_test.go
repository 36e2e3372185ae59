package e2e_test

import (
	"database/sql"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/testservers"
)

// What the containers' database is told at its first start lets the lab make its databases, and no other.
func TestContainers_DatabaseUser_MayCreateLabDatabases(t *testing.T) {
	t.Parallel()
	m := testservers.NewMariaDB(t)
	open := func(dsn string) *sql.DB {
		db, err := sql.Open("mysql", dsn)
		require.NoError(t, err)
		t.Cleanup(func() { _ = db.Close() })
		return db
	}
	root := open(m.DSN(""))
	grants, err := os.ReadFile("../../../configs/mysql/lab.sql")
	require.NoError(t, err)
	for _, statement := range []string{"CREATE USER seckill IDENTIFIED BY 'pw'", string(grants)} {
		_, err := root.ExecContext(t.Context(), statement)
		require.NoError(t, err)
	}
	user := open(strings.Replace(m.DSN(""), "root@", "seckill:pw@", 1))
	for _, statement := range []string{
		"CREATE DATABASE seckill_lab_abc", "CREATE TABLE seckill_lab_abc.t (id INT)", "DROP DATABASE seckill_lab_abc",
	} {
		_, err := user.ExecContext(t.Context(), statement)
		require.NoError(t, err, statement)
	}
	_, err = user.ExecContext(t.Context(), "CREATE DATABASE seckill_labs")
	require.ErrorContains(t, err, "1044")
}
