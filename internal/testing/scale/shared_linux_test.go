package scale

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestParseStat_FirstLine_IsOfTheWholeMachine(t *testing.T) {
	busy, stolen := parseStat("cpu  100 20 30 9999 40 50 60 70 5 6\ncpu0 1 1 1 1 1 1 1 1 1 1\n")
	require.Equal(t, 1500*time.Millisecond, busy)
	require.Equal(t, 700*time.Millisecond, stolen)
	for _, text := range []string{"", "cpu0 1 2 3 4 5 6 7 8 9", "cpu 1 2 3"} {
		busy, stolen = parseStat(text)
		require.Zero(t, busy+stolen, text)
	}
}

func TestUseOfMachine_ReadTwice_Grows(t *testing.T) {
	before := useOfMachine()
	require.Positive(t, before.busy)
	require.Positive(t, before.self)
	for useOfMachine().busy == before.busy && time.Since(before.at) < 10*time.Second {
	}
	require.Greater(t, useOfMachine().busy, before.busy)
}
