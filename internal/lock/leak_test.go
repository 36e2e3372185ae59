package lock_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/lock"
)

// Not parallel: it measures the memory of the process.
func TestAcquire_HundredThousandTimes_KeepsMemory(t *testing.T) {
	l, err := lock.New(newMemory(), lock.Options{Lease: time.Minute})
	require.NoError(t, err)
	take := func(from, to int) {
		for i := from; i < to; i++ {
			h, err := l.Acquire(t.Context(), fmt.Sprintf("user:%d", i))
			require.NoError(t, err)
			require.NoError(t, h.Release(t.Context()))
		}
	}
	take(0, 1000) // what is made once
	before, goroutines := liveHeap(), runtime.NumGoroutine()
	take(1000, 101_000)
	require.Less(t, liveHeap(), before+1<<20, "ten bytes for each would be as much")
	require.LessOrEqual(t, runtime.NumGoroutine(), goroutines+2)
	require.NoError(t, l.Close(t.Context()))
}

// liveHeap returns how much memory is in use.
func liveHeap() uint64 {
	runtime.GC()
	runtime.GC() // what has a finalizer goes with the second
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
