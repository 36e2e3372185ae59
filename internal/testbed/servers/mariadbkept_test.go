package servers

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWhatIsInstalledIsKeptForTheSameProgramsAlone(t *testing.T) {
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

func TestWhatIsLeftOfOtherVersionsIsRemoved(t *testing.T) {
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

// TestACopyIsEqualAndStoresNothingForZeros copies zeros in front of something, within and behind it, and a file of
// nothing else.
func TestACopyIsEqualAndStoresNothingForZeros(t *testing.T) {
	const much = 1 << 20
	some := bytes.Repeat([]byte("data"), len(zeros)) // four times what is written at once
	for name, content := range map[string][]byte{
		"empty": nil, "short": []byte("short"), "zeros": make([]byte, much+1),
		"mixed": bytes.Join([][]byte{make([]byte, much), some, make([]byte, much), some, make([]byte, much+1)}, nil),
	} {
		t.Run(name, func(t *testing.T) {
			from, to := filepath.Join(t.TempDir(), "from"), filepath.Join(t.TempDir(), "to")
			require.NoError(t, os.WriteFile(from, content, 0o600))
			require.NoError(t, copyFile(from, to))
			copied, err := os.ReadFile(to)
			require.NoError(t, err)
			require.True(t, bytes.Equal(content, copied))
			var stored syscall.Stat_t
			require.NoError(t, syscall.Stat(to, &stored))
			require.LessOrEqual(t, stored.Blocks*512, int64(much), "bytes on the disk")
		})
	}
}
