package testservers

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFoldersOfKilledTestProcessesAreRemovedAndNoOthers(t *testing.T) {
	parent := t.TempDir()
	long := time.Now().Add(-2 * young)
	folder := func(name string, changed time.Time) string {
		dir := filepath.Join(parent, name)
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "data"), 0o700))
		require.NoError(t, os.Chtimes(dir, changed, changed))
		return dir
	}
	abandoned := folder(homes+"abandoned", long)
	inUse := folder(homes+"in-use", long)
	beingMade := folder(homes+"being-made", time.Now())
	foreign := folder("foreign", long)
	fd, err := lockDir(inUse)
	require.NoError(t, err)
	t.Cleanup(func() { _ = syscall.Close(fd) })

	mine, err := makeHome(parent)
	require.NoError(t, err)
	assert.NoDirExists(t, abandoned)
	for _, dir := range []string{inUse, beingMade, foreign, mine} {
		assert.DirExists(t, dir)
	}
	_, err = lockDir(mine)
	require.Error(t, err, "it is in use")
}
