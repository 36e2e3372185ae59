package servers_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"example.com/seckill/internal/testing/testservers"
	"example.com/seckill/internal/tools/servers"
)

// TestMariaDB_Install_RunsOncePerUser asks by the installer's log whether it ran.
func TestMariaDB_Install_RunsOncePerUser(t *testing.T) {
	testservers.Need(t, testservers.Servers)
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	start := func(dir string) error {
		m, err := servers.StartMariaDB(t.Context(), dir)
		if err != nil {
			return err
		}
		return m.Stop()
	}
	var both errgroup.Group
	for range 2 {
		dir := filepath.Join(t.TempDir(), "a folder") // the installer is a script that quotes little
		both.Go(func() error { return start(dir) })
	}
	require.NoError(t, both.Wait(), "two that both install")

	again := t.TempDir()
	require.NoError(t, start(again))
	require.NoFileExists(t, filepath.Join(again, "install.log"), "it is a copy")

	kept, err := filepath.Glob(filepath.Join(cache, "seckill", "mariadb", "*"))
	require.NoError(t, err)
	require.Len(t, kept, 1, "nothing else is left")

	require.NoError(t, os.RemoveAll(filepath.Join(cache, "seckill")))
	require.NoError(t, os.WriteFile(filepath.Join(cache, "seckill"), nil, 0o600))
	again = t.TempDir()
	require.NoError(t, start(again), "what cannot be kept is installed")
	require.FileExists(t, filepath.Join(again, "install.log"))
}
