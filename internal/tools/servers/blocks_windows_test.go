package servers

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// blocks returns the size of a file: Windows keeps the zeros of a sparse file, unless a program asks for holes.
func blocks(t *testing.T, file string) int64 {
	t.Helper()
	info, err := os.Stat(file)
	require.NoError(t, err)
	return info.Size()
}
