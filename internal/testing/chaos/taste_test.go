package chaos

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSample_FewRounds_AreOfDifferentFamilies(t *testing.T) {
	all, err := Faults(Sync, "")
	require.NoError(t, err)
	for seed := range uint64(len(all)) {
		families, drawn := map[string]bool{}, map[string]bool{}
		for _, batch := range (Options{Rounds: 5, Parallel: 2, Seed: seed, Faults: all}).batches() {
			for _, one := range batch {
				family, _, _ := strings.Cut(one.cell.Name, ".")
				family, _, _ = strings.Cut(family, ":")
				families[family], drawn[one.cell.Name] = true, true
			}
		}
		require.Len(t, drawn, 5)
		require.GreaterOrEqual(t, len(families), 4, "seed %d: %v", seed, drawn)
	}
}

func TestSample_AllRounds_AreEveryFaultInTurn(t *testing.T) {
	all, err := Faults(Sync, "")
	require.NoError(t, err)
	o := Options{Rounds: 2 * len(all), Seed: 7, Faults: all}
	for n := range o.Rounds {
		require.Equal(t, all[n%len(all)].Name, o.faultOf(n).Name)
	}
}
