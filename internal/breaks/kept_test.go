package breaks

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"seckill/internal/servers/testservers"
)

const root = "../.."

func kept(t *testing.T) []Break {
	t.Helper()
	folders, err := Folders(root)
	require.NoError(t, err)
	all, err := Load(folders...)
	require.NoError(t, err)
	return all
}

func TestEveryBreakThatIsKeptStillApplies(t *testing.T) {
	for _, b := range kept(t) {
		require.NoError(t, b.Applies(root), b.Path)
	}
}

// The others are tried by `make breaks`.
func TestTheQuickBreaksAreCaught(t *testing.T) {
	testservers.Need(t, testservers.Servers)
	var quick []Break
	for _, b := range kept(t) {
		if b.Quick {
			quick = append(quick, b)
		}
	}
	require.GreaterOrEqual(t, len(quick), 4)
	ok, err := Report(t.Context(), os.Stdout, root, testservers.Sample(t, 2, quick))
	require.NoError(t, err)
	require.True(t, ok)
}
