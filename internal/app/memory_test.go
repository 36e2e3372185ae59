package app

import (
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// resident returns how many bytes of the heap are in memory: of all mappings near an object of it.
func resident(t *testing.T) (bytes int64) {
	object := uint64(uintptr(unsafe.Pointer(new([32 << 10]byte))))
	text, err := os.ReadFile("/proc/self/smaps")
	require.NoError(t, err)
	near := false
	for line := range strings.Lines(string(text)) {
		var from, to uint64
		var kib int64
		if n, _ := fmt.Sscanf(line, "%x-%x", &from, &to); n == 2 {
			near = from>>36 == object>>36
		} else if n, _ := fmt.Sscanf(line, "Rss: %d kB", &kib); n == 1 && near {
			bytes += kib << 10
		}
	}
	require.Positive(t, bytes)
	return bytes
}

// sold returns by how much the process grows with so many bytes of objects.
func sold(t *testing.T, bytes int) int64 {
	before := resident(t)
	objects := make([][]byte, 1000)
	for i := range objects {
		objects[i] = make([]byte, bytes/len(objects))
		for at := 0; at < len(objects[i]); at += os.Getpagesize() {
			objects[i][at] = 1
		}
	}
	return resident(t) - before
}

const (
	ready = 80 << 20
	sale  = 60 << 20
)

func TestTheHeapOfASaleIsMappedBeforeIt(t *testing.T) {
	debug.FreeOSMemory() // as after quiet minutes
	cold := sold(t, sale)
	debug.FreeOSMemory()
	require.Less(t, mappedHeap(), int64(sale))

	before := resident(t)
	mapHeap(ready)
	require.Greater(t, resident(t)-before, int64(sale), "its pages are there")
	require.Greater(t, mappedHeap(), int64(sale), "and are not mapped once more")
	require.Less(t, sold(t, sale), cold/4, "what a sale needs is taken from them")
}

func TestTheHeapIsMappedAgainAfterQuietMinutes(t *testing.T) {
	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "")
	t.Cleanup(func() { debug.SetGCPercent(100); debug.SetMemoryLimit(math.MaxInt64) })
	stop := startJobs(t.Context(), memory{ready: ready}.manage)
	defer stop()
	mapped := func() bool { return mappedHeap() > sale }
	require.Eventually(t, mapped, 10*time.Second, time.Millisecond, "at the start")
	require.Eventually(t, func() bool { debug.FreeOSMemory(); return !mapped() }, 10*time.Second, time.Millisecond)
	require.Eventually(t, mapped, 10*time.Second, time.Millisecond, "within a moment")
}
