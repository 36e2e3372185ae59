package embedded_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/platform/embedded"
)

// A user's folder for temporary files may have any name, and SQLite reads the path as part of a URI.
func TestStart_FolderWithSpacesAndSigns_KeepsDatabaseThere(t *testing.T) {
	temp := filepath.Join(t.TempDir(), "a long folder?", "100%41 #1", strings.Repeat("longer than the path of a socket", 4))
	require.NoError(t, os.MkdirAll(temp, 0o700))
	t.Setenv("TMPDIR", temp)
	s, err := embedded.Start(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	db, err := sql.Open("sqlite", s.SQLiteDSN())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	_, err = db.ExecContext(t.Context(), "CREATE TABLE a (b INT)")
	require.NoError(t, err)
	require.FileExists(t, s.SQLitePath())
	require.True(t, strings.HasPrefix(s.SQLitePath(), temp))
}
