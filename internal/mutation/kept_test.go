package mutation

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"seckill/internal/testbed/testservers"
)

const root = "../.."

func kept(t *testing.T) []Mutant {
	t.Helper()
	folders, err := Folders(root)
	require.NoError(t, err)
	all, err := Load(folders...)
	require.NoError(t, err)
	return all
}

func TestEveryMutantStillApplies(t *testing.T) {
	for _, m := range kept(t) {
		require.NoError(t, m.Applies(root), m.Path)
	}
}

// The others are tried by `make mutants`.
func TestTheQuickMutantsAreKilled(t *testing.T) {
	testservers.Need(t, testservers.Servers)
	var quick []Mutant
	for _, m := range kept(t) {
		if m.Quick {
			quick = append(quick, m)
		}
	}
	require.GreaterOrEqual(t, len(quick), 4)
	ok, err := Run(t.Context(), Options{Root: root, Out: os.Stdout, Race: true}, testservers.Sample(t, 2, quick))
	require.NoError(t, err)
	require.True(t, ok)
}
