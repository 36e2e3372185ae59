package servers

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestProcess_Own_HasCPUTimeAndMemory(t *testing.T) {
	before, err := CPU(os.Getpid())
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		after, err := CPU(os.Getpid())
		return err == nil && after > before
	}, 10*time.Second, time.Microsecond, "asking costs time")

	const size = 64 << 20
	require.NoError(t, ResetPeakMemory(os.Getpid()))
	small, err := PeakMemory(os.Getpid())
	require.NoError(t, err)
	require.Greater(t, small, int64(1<<20))
	block := make([]byte, size)
	for i := 0; i < size; i += os.Getpagesize() {
		block[i] = 1
	}
	large, err := PeakMemory(os.Getpid())
	require.NoError(t, err)
	require.GreaterOrEqual(t, large, small+size/2)
	require.Less(t, large, int64(100*size), "in bytes, and what the race detector needs for them")
	require.NotZero(t, block[0])
}

func TestProcess_Gone_HasNoFigures(t *testing.T) {
	const none = 1 << 30
	_, err := CPU(none)
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = PeakMemory(none)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.Error(t, ResetPeakMemory(none))
}
