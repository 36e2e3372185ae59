package app

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// A sale has a small live heap and much garbage, and then suddenly ten times the
// connections. With Go's default the heap grows to twice the live heap: the collector runs
// very often in normal operation, and under overload the memory doubles with the stacks
// and buffers of all waiting requests. Here a soft limit decides when to collect:
//
//	normal    rarely: the heap may be eleven times the live heap, below the limit
//	overload  as often as is needed to stay below the limit
//
// The limit is not hard: it stays above the live heap, so that a process with very many
// connections takes what they need and does not spend its CPUs on collecting nothing.
const (
	gcPercent      = 1000      // GOGC: garbage in percent of the live heap
	softLimit      = 112 << 20 // GOMEMLIMIT: bytes that the runtime has mapped; overload needs little more
	overhead       = 12 << 20  // upper bound of what is neither heap nor stacks
	memoryInterval = 500 * time.Millisecond
)

// memory manages the memory of the process.
type memory struct {
	ready int // bytes of the heap that are kept mapped
}

// manage keeps the limit, and the heap mapped, until ctx ends. It does nothing if GOGC or GOMEMLIMIT is set.
func (m memory) manage(ctx context.Context) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetGCPercent(gcPercent)
	limit := int64(softLimit)
	debug.SetMemoryLimit(limit)
	mapHeap(m.ready)
	every(ctx, memoryInterval, func() {
		// Setting it stops the world: a change below a twentieth is not worth that.
		if next := memoryLimit(inUse()); next > limit+limit/20 || next < limit-limit/20 {
			limit = next
			debug.SetMemoryLimit(limit)
		}
		if mappedHeap() < int64(m.ready/4*3) {
			mapHeap(m.ready)
		}
	})
}

// mapHeap has the kernel map so many bytes of pages for the heap, before a sale needs them. The runtime takes them
// first, and collects before it needs more. Of a heap that grows for the first time, or again after quiet minutes in
// which the runtime gave its memory back, each page costs a page fault. In the first second of a sale these took some
// 40 % of what the program took besides, and batches of 30 orders became 90 and more.
func mapHeap(bytes int) {
	pages := make([]byte, bytes)
	adviseHugePages(pages)
	for i := 0; i < len(pages); i += os.Getpagesize() {
		pages[i] = 1
	}
	runtime.KeepAlive(pages)
	runtime.GC() // which frees them, and has the runtime keep as much as was in use before it
}

// memoryLimit returns the soft limit, at least a sixth above what is in use.
func memoryLimit(used int64) int64 { return max(softLimit, used+used/6+overhead) }

// inUse returns the live heap of the last collection plus the stacks.
func inUse() int64 { return sumOf("/gc/heap/live:bytes", "/memory/classes/heap/stacks:bytes") }

// mappedHeap returns how much of the heap has pages, in use or free.
func mappedHeap() int64 {
	return sumOf("/memory/classes/heap/objects:bytes", "/memory/classes/heap/unused:bytes", "/memory/classes/heap/free:bytes")
}

// sumOf returns the sum of metrics of the runtime.
func sumOf(names ...string) (sum int64) {
	all := make([]metrics.Sample, len(names))
	for i, name := range names {
		all[i].Name = name
	}
	metrics.Read(all)
	for _, s := range all {
		sum += int64(s.Value.Uint64()) //nolint:gosec // bytes of memory
	}
	return sum
}
