//go:build unix

package servers_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/tools/servers"
)

// build writes a program that ends as a build does, and returns its path.
func build(t *testing.T, says string, code string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "seckill")
	script := "#!/bin/sh\n[ \"$1 $SECKILL_A__NEW\" = 'check ?' ] || exit 0\ncat >&2 <<'END'\n" + says + "END\nexit " + code + "\n"
	require.NoError(t, os.WriteFile(path, []byte(script), 0o700))
	return path
}

func TestOldNames_EarlierBuild_ReturnsNamesThatItKnows(t *testing.T) {
	t.Parallel()
	renamed := map[string]string{
		"SECKILL_A__OLD": "SECKILL_A__NEW", "SECKILL_A__OLDER": "SECKILL_A__NEW", "SECKILL_B__OLD": "SECKILL_B__NEW",
	}
	earlier := build(t, "seckill: unknown variable \"SECKILL_A__NEW\": did you mean SECKILL_A__OLD?\nSECKILL_B__NEW: must be a number\n", "2")
	names, err := servers.OldNames(t.Context(), t.TempDir(), earlier, renamed)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"SECKILL_A__NEW": "SECKILL_A__OLD"}, names)
	require.Equal(t, []string{"SECKILL_A__OLD=x=y", "SECKILL_B__NEW=1", "PATH=/bin"},
		servers.WithNames([]string{"SECKILL_A__NEW=x=y", "SECKILL_B__NEW=1", "PATH=/bin"}, names))

	current := build(t, "SECKILL_A__NEW: must be a number\n", "2")
	names, err = servers.OldNames(t.Context(), t.TempDir(), current, renamed)
	require.NoError(t, err)
	require.Empty(t, names)
}

func TestOldNames_ProgramThatIsNoBuild_ReturnsError(t *testing.T) {
	t.Parallel()
	for _, program := range []string{build(t, "fine\n", "0"), filepath.Join(t.TempDir(), "missing")} {
		_, err := servers.OldNames(t.Context(), t.TempDir(), program, map[string]string{"SECKILL_A__OLD": "SECKILL_A__NEW"})
		require.ErrorContains(t, err, program)
	}
}
