package mutation

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/gobuild"
	"example.com/seckill/internal/testing/testservers"
)

const root = "../../.."

func kept(t *testing.T) []Mutant {
	t.Helper()
	folders, err := Folders(root)
	require.NoError(t, err)
	all, err := Load(folders...)
	require.NoError(t, err)
	return all
}

func TestMutants_EveryPatch_StillApplies(t *testing.T) {
	for _, m := range kept(t) {
		require.NoError(t, m.Applies(root), m.Path)
	}
}

// TestKeptMutants_Each_HasAReason holds the number of patches down: every change of a patched line costs a
// change of its patch.
func TestKeptMutants_Each_HasAReason(t *testing.T) {
	shown, err := os.ReadFile(filepath.Join(root, "internal/tools/gallery/subjects.go"))
	require.NoError(t, err)
	named, err := os.ReadFile(filepath.Join(root, "docs/INVARIANTS.md"))
	require.NoError(t, err)
	all := kept(t)
	require.LessOrEqual(t, len(all), 200)
	for _, m := range all {
		if m.Package() != "testing/chaos" && !strings.Contains(string(shown), `"`+m.Name()+`"`) && !strings.Contains(string(named), "`"+m.short()+"`") {
			t.Errorf("%s: neither the gallery nor INVARIANTS.md names it, and it is not of chaos: remove it", m.Path)
		}
	}
}

func TestRaceFlags_OfMakeTest_AreUsed(t *testing.T) {
	require.Equal(t, gobuild.RaceFlags(), raceFlags)
}

// The others are tried by `make mutants`.
func TestMutants_Quick_AreKilled(t *testing.T) {
	testservers.OneOf(t, 2)
	testservers.Need(t, testservers.Servers)
	var quick []Mutant
	for _, m := range kept(t) {
		if m.Quick {
			quick = append(quick, m)
		}
	}
	require.GreaterOrEqual(t, len(quick), 4)
	ok, err := Run(t.Context(), Options{Root: root, Out: os.Stdout, Race: true}, testservers.Sample(t, 1, quick))
	require.NoError(t, err)
	require.True(t, ok)
}
