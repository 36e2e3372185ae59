package servers_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/testservers"
	"example.com/seckill/internal/tools/servers"
)

func TestCopy_DatabaseBeingWritten_IsOfOneMoment(t *testing.T) {
	testservers.Need(t, testservers.Servers)
	m, err := servers.StartMariaDB(t.Context(), t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { _ = m.Kill() })
	db, err := sql.Open("mysql", m.DSN("mysql"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	_, err = db.ExecContext(t.Context(), "CREATE TABLE words (n INT PRIMARY KEY AUTO_INCREMENT) ENGINE = InnoDB")
	require.NoError(t, err)
	write := func() (n int) {
		t.Helper()
		for range 20 {
			_, err := db.ExecContext(t.Context(), "INSERT INTO words () VALUES ()")
			require.NoError(t, err)
		}
		return count(t, db)
	}
	before := write()
	dir := filepath.Join(t.TempDir(), "copy")
	require.NoError(t, m.Copy(dir))
	require.Greater(t, write(), before, "it goes on")

	copied, err := servers.StartMariaDB(t.Context(), dir)
	require.NoError(t, err)
	of, err := sql.Open("mysql", copied.DSN("mysql"))
	require.NoError(t, err)
	require.Equal(t, before, count(t, of))
	require.NoError(t, of.Close())
	require.NoError(t, copied.Stop())

	addr := m.Addr()
	require.NoError(t, m.SetBack(t.Context(), dir))
	require.Equal(t, addr, m.Addr())
	require.Equal(t, before, count(t, db))
	require.NoError(t, m.Stop())
}

func count(t *testing.T, db *sql.DB) (n int) {
	t.Helper()
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM words").Scan(&n))
	return n
}
