package main

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// A sale has a small live heap and much garbage, and then at once ten times the
// connections. By Go's default the heap grows to twice of what is live: it is collected
// very often while all is well, and under overload the memory doubles with the stacks
// and buffers of all who wait. Here it is a soft limit that says when to collect:
//
//	all is well  seldom: the heap may be eleven times of what is live, below the limit
//	overload     as often as is needed to stay below the limit
//
// The limit is no wall: it keeps a distance from what is live, so that a process with
// very many connections takes what they need, and does not spend its processors on
// looking for garbage that there is not.
const (
	calm      = 1000      // GOGC: garbage in percent of what is live
	softLimit = 112 << 20 // GOMEMLIMIT: bytes that Go has from the system; overload needs little more
	other     = 12 << 20  // of these, neither heap nor stacks, at most
	lookEvery = 500 * time.Millisecond
)

// boundMemory keeps the limit until ctx ends. Who sets GOGC or GOMEMLIMIT has decided,
// and nothing is done.
func boundMemory(ctx context.Context) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetGCPercent(calm)
	limit := int64(softLimit)
	debug.SetMemoryLimit(limit)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		// To set it stops the program for a moment: a twentieth is not worth that.
		if next := memoryLimit(inUse()); next > limit+limit/20 || next < limit-limit/20 {
			limit = next
			debug.SetMemoryLimit(limit)
		}
	}
}

// memoryLimit is the soft limit, and at least a sixth more than what is in use.
func memoryLimit(used int64) int64 { return max(softLimit, used+used/6+other) }

// inUse is what the last collection found to be live, and the stacks.
func inUse() int64 {
	all := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(all)
	return int64(all[0].Value.Uint64() + all[1].Value.Uint64()) //nolint:gosec // bytes of memory
}
