package mutation

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"seckill/internal/testbed"
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

func TestTheTableHasARowForEveryMutantAndNoOther(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, TableFile))
	require.NoError(t, err)
	var rows []string
	room := ""
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(line, "## "); ok {
			room = strings.TrimSpace(name)
		}
		if cells := strings.Split(line, " | "); len(cells) > 3 && cells[0] != "| mutant" {
			rows = append(rows, room+"/"+strings.TrimPrefix(cells[0], "| "))
		}
	}
	var names []string
	for _, m := range kept(t) {
		names = append(names, m.Name())
	}
	require.Equal(t, names, rows, command)
	require.Contains(t, string(text), command)
}

func TestRacesAreLookedForAsInMakeTest(t *testing.T) {
	require.Equal(t, testbed.RaceFlags(), raceFlags)
}

// The others are tried by `make mutants`.
func TestTheQuickMutantsAreKilled(t *testing.T) {
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
