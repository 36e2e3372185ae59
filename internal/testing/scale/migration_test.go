package scale

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLastVersion_FolderOfMigrations_IsTheNumberOfTheLastFile(t *testing.T) {
	folder := t.TempDir()
	_, err := lastVersion(folder)
	require.ErrorContains(t, err, folder+" is empty")
	for _, name := range []string{"00018_schema.sql", "00019_merged.sql"} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), nil, 0o600))
	}
	version, err := lastVersion(folder)
	require.NoError(t, err)
	require.Equal(t, 19, version)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "next.sql"), nil, 0o600))
	_, err = lastVersion(folder)
	require.ErrorContains(t, err, "next.sql does not start with a version")
}
