//go:build unix

package servers

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// blocks returns how many bytes of the disk a file takes.
func blocks(t *testing.T, file string) int64 {
	t.Helper()
	var stat syscall.Stat_t
	require.NoError(t, syscall.Stat(file, &stat))
	return stat.Blocks * 512
}
