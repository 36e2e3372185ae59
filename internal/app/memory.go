package app

import (
	"context"
	"os"
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

// adjustMemoryLimit keeps the limit until ctx ends. It does nothing if GOGC or GOMEMLIMIT
// is set.
func adjustMemoryLimit(ctx context.Context) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetGCPercent(gcPercent)
	limit := int64(softLimit)
	debug.SetMemoryLimit(limit)
	every(ctx, memoryInterval, func() {
		// Setting it stops the world: a change below a twentieth is not worth that.
		if next := memoryLimit(inUse()); next > limit+limit/20 || next < limit-limit/20 {
			limit = next
			debug.SetMemoryLimit(limit)
		}
	})
}

// memoryLimit returns the soft limit, at least a sixth above what is in use.
func memoryLimit(used int64) int64 { return max(softLimit, used+used/6+overhead) }

// inUse returns the live heap of the last collection plus the stacks.
func inUse() int64 {
	all := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(all)
	return int64(all[0].Value.Uint64() + all[1].Value.Uint64()) //nolint:gosec // bytes of memory
}
