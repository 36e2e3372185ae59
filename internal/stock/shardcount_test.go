package stock

import (
	"context"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestShardsFor_OneServer_FollowsUnits(t *testing.T) {
	s := New(dial(t, backends["a server"](t)), Options{})
	for units, want := range map[int64]int{1: 1, 100_000: 1, 100_001: 2, 800_000: 8, 5_000_000: 8} {
		require.Equal(t, want, s.ShardsFor(t.Context(), units), "%d units", units)
	}
}

func TestShardsFor_ShortQueues_LimitsUnitsOfAShard(t *testing.T) {
	s := New(dial(t, backends["the embedded server"](t)), Options{UnitsPerShard: 2_000})
	for units, want := range map[int64]int{500: 1, 2_001: 2, 16_000: 8, 100_000: 8} {
		require.Equal(t, want, s.ShardsFor(t.Context(), units), "%d units", units)
	}
}

func TestShardsFor_Cluster_FollowsMasters(t *testing.T) {
	s := New(dial(t, backends["a cluster"](t)), Options{})
	for units, want := range map[int64]int{20: 1, 1_000: 1, 3_000: 3, 100_000: 8} {
		require.Equal(t, want, s.ShardsFor(t.Context(), units), "%d units", units)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Equal(t, 8, s.ShardsFor(ctx, 100_000), "without another question to the servers")
	for n := range 20 {
		s.servers.ids[strconv.Itoa(n)] = "more"
	}
	require.Equal(t, 8*len(s.servers.ids), s.ShardsFor(ctx, 1_000_000), "8 a master")
	require.Equal(t, 50, s.ShardsFor(ctx, 50_000))
}
