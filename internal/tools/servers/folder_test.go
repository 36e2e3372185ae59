package servers

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFolders_OwnerKilled_AreRemoved(t *testing.T) {
	parent := t.TempDir()
	long := time.Now().Add(-2 * young)
	folder := func(name string, changed time.Time) string {
		dir := filepath.Join(parent, name)
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "data"), 0o700))
		if name != "run-of-a-user" {
			require.NoError(t, os.WriteFile(filepath.Join(dir, lockFile), nil, 0o600))
		}
		require.NoError(t, os.Chtimes(dir, changed, changed))
		return dir
	}
	abandoned := folder("run-abandoned", long)
	inUse := folder("run-in-use", long)
	beingMade := folder("run-being-made", time.Now())
	foreign, ofUser := folder("foreign", long), folder("run-of-a-user", long)
	lock, err := lockFolder(inUse, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = lock.Close() })

	mine, remove, err := NewFolder(parent, "run-")
	require.NoError(t, err)
	assert.NoDirExists(t, abandoned)
	for _, dir := range []string{inUse, beingMade, foreign, ofUser, mine} {
		assert.DirExists(t, dir)
	}
	_, err = lockFolder(mine, 0)
	require.Error(t, err, "it is in use")
	require.NoError(t, remove())
	assert.NoDirExists(t, mine)
}

// TestNewFolder_RemoveIsNotReferenced_StaysLocked collects the garbage after the caller has dropped remove, as
// a program does whose servers end with it.
func TestNewFolder_RemoveIsNotReferenced_StaysLocked(t *testing.T) {
	dir, _, err := NewFolder(t.TempDir(), "run-")
	require.NoError(t, err)
	for range 3 { // the file is closed after the collection that finds it
		runtime.GC()
		time.Sleep(10 * time.Millisecond)
	}

	_, err = lockFolder(dir, 0)

	require.ErrorIs(t, err, errInUse)
}
