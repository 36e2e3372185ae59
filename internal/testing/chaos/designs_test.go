package chaos_test

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/chaos"
	"example.com/seckill/internal/testing/testservers"
)

// A database design loses nothing. A design that answers before the commit loses orders with a Redis that keeps nothing.
func TestPlayDesigns_RedisKilled_OnlyTheQueueLosesOrders(t *testing.T) {
	testservers.Need(t, testservers.Servers)
	names := []string{"conditional-update", "decr-then-queue"}
	if testservers.All() {
		names = chaos.RightDesigns()
	}
	all, err := chaos.PlayDesigns(t.Context(), chaos.DesignOptions{Program: program, Designs: names, Units: 600})
	require.NoError(t, err)
	require.Len(t, all, 2*len(names))
	for _, r := range all {
		require.Zero(t, r.Oversold+r.SoldTwice+r.Undersold, "%+v", r)
		require.GreaterOrEqual(t, r.Acknowledged, 200, "%+v", r)
		if r.Killed == "program" {
			require.Equal(t, 600, r.Acknowledged, "a request that is repeated with its key finds its order: %+v", r)
		}
		require.Positive(t, r.AgainMS, "%+v", r)
		if r.Design == "decr-then-queue" && r.Killed == "Redis" {
			require.Positive(t, r.Lost, "%+v", r)
		} else {
			require.Zero(t, r.Lost, "%+v", r)
		}
	}
}

func TestWriteDesigns_LongNames_FitTheTerminal(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, chaos.WriteDesigns(&out, []chaos.DesignResult{
		{Design: "conditional-update", Killed: "program", Acknowledged: 1500, AgainMS: 812.4},
		{Design: "decr-then-queue", Killed: "Redis", Acknowledged: 1541, Lost: 41},
	}))
	require.Contains(t, out.String(), "conditional-update  program          1500     0        0          0         0 810ms\n")
	require.Contains(t, out.String(), "decr-then-queue     Redis            1541    41        0          0         0 –\n")
	for line := range strings.Lines(out.String()) {
		require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSpace(line)), 89, line)
	}
}
