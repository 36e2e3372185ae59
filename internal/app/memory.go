package app

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// A sale has a small live heap and much garbage, and then suddenly ten times the connections. With Go's default the
// heap grows to twice the live heap. In normal operation the collector then runs very often. Under overload the memory
// doubles with the stacks and buffers of all waiting requests. Here a soft limit decides when to collect:
//
//	normal    rarely: the heap may be eleven times the live heap, below the limit
//	overload  as often as is needed to stay below the limit
//
// The limit is not hard. It stays above the live heap, so that a process with very many connections can take the memory
// that they need. Otherwise the process would spend its CPUs on collecting nothing.
const (
	gcPercent      = 1000      // GOGC: garbage in percent of the live heap
	softLimit      = 112 << 20 // GOMEMLIMIT: bytes that the runtime has mapped; overload needs little more
	overhead       = 12 << 20  // bytes: upper bound of the memory that is neither heap nor stacks
	memoryInterval = 500 * time.Millisecond
)

// adjustMemoryLimit adjusts the limit to the memory in use until ctx ends. It does nothing if GOGC or GOMEMLIMIT is
// set.
func adjustMemoryLimit(ctx context.Context) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetGCPercent(gcPercent)
	limit := int64(softLimit)
	debug.SetMemoryLimit(limit)
	every(ctx, memoryInterval, func() {
		// A new limit stops the world. A change below a twentieth is not worth the stop.
		if next := memoryLimit(inUse()); next > limit+limit/20 || next < limit-limit/20 {
			limit = next
			debug.SetMemoryLimit(limit)
		}
	})
}

// memoryLimit returns the soft limit in bytes. The limit is at least a sixth above the memory in use.
func memoryLimit(used int64) int64 { return max(softLimit, used+used/6+overhead) }

// inUse returns the bytes of the live heap at the last collection plus the bytes of the stacks.
func inUse() int64 {
	all := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(all)
	return int64(all[0].Value.Uint64() + all[1].Value.Uint64()) //nolint:gosec // bytes of memory
}
