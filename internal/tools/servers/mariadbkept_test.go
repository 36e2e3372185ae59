package servers

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestKeptData_ProgramOrFlagsChange_ChangesPath(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	program := filepath.Join(t.TempDir(), "mariadbd")
	require.NoError(t, os.WriteFile(program, []byte("one"), 0o600))
	kept := keptData([]string{"--user=root"}, program)
	require.Equal(t, kept, keptData([]string{"--user=root"}, program))
	require.NotEqual(t, kept, keptData(nil, program))
	require.NoError(t, os.WriteFile(program, []byte("another"), 0o600))
	require.NotEqual(t, kept, keptData([]string{"--user=root"}, program))
	require.Empty(t, keptData(nil, program+"-is-not-there"))
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("HOME", "")
	require.Empty(t, keptData(nil, program), "a user without a cache")
}

func TestKeepData_OtherVersions_AreRemovedWhenOld(t *testing.T) {
	cache, data := t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(data, "ibdata1"), []byte("data"), 0o600))
	kept, old, young := filepath.Join(cache, "kept"), filepath.Join(cache, "old"), filepath.Join(cache, "young")
	require.NoError(t, os.Mkdir(old, 0o700))
	require.NoError(t, os.Mkdir(young, 0o700))
	long := time.Now().Add(-2 * unused)
	require.NoError(t, os.Chtimes(old, long, long))
	keepData(data, kept)
	require.NoDirExists(t, old)
	require.DirExists(t, young, "another process may be at it")
	text, err := os.ReadFile(filepath.Join(kept, "ibdata1"))
	require.NoError(t, err)
	require.Equal(t, "data", string(text))
}

// TestCopy_Folder_IsEqual copies zeros in front of something, within and behind it, and a file of nothing else. A
// server's own copy is stored as it is, and what is kept without zeros.
func TestCopy_Folder_IsEqual(t *testing.T) {
	const much = 1 << 20
	some := bytes.Repeat([]byte("data"), len(zeros)) // four times what is written at once
	for name, content := range map[string][]byte{
		"empty": nil, "short": []byte("short"), "zeros": make([]byte, much+1),
		"mixed": bytes.Join([][]byte{make([]byte, much), some, make([]byte, much), some, make([]byte, much+1)}, nil),
	} {
		t.Run(name, func(t *testing.T) {
			from := filepath.Join(t.TempDir(), "from")
			require.NoError(t, os.WriteFile(from, content, 0o600))
			require.GreaterOrEqual(t, stored(t, from, whole, content), int64(len(content)))
			require.LessOrEqual(t, stored(t, from, sparse, content), int64(much))
		})
	}
}

// stored returns how many bytes a copy takes.
func stored(t *testing.T, from string, copyFile func(from, to string) error, content []byte) int64 {
	t.Helper()
	to := filepath.Join(t.TempDir(), "to")
	require.NoError(t, copyFile(from, to))
	copied, err := os.ReadFile(to)
	require.NoError(t, err)
	require.True(t, bytes.Equal(content, copied))
	return blocks(t, to)
}
