package bench

import (
	"cmp"
	"math"
	"slices"
)

// metric is one figure of a round.
type metric int

// The figures of a round. Those "each" are divided by the answers that the path counts.
const (
	asked metric = iota
	accepted
	refused
	failed
	committed
	requestRate // answered requests per second, of every kind
	rate        // answers per second that the path counts
	queuedRate  // 202 per second
	p50         // ms, of those answers
	p99         // ms
	ofBare      // rate, over the bare route's just before and after
	ofSingle    // rate, over that of batches of one in the same round
	cpuAll      // µs each, of all processes
	costOfBare  // the same, over the bare route's just before and after

	cpuProgram // µs each
	cpuDatabase
	cpuRedis
	cpuCrowd
	redisScripts  // calls of scripts, each
	redisCommands // other commands, outside and inside scripts, each
	redisIn       // bytes sent to Redis, each
	redisOut      // bytes sent by Redis, each
	redisMemory   // bytes by which its memory grew, each
	busiest       // share of the scripts that the busiest Redis ran
	statements    // each
	commits       // each
	rowsWritten   // each
	rowsRead      // each
	databaseIn    // bytes, each
	databaseOut   // bytes, each
	fsyncs        // as InnoDB counts them, each
	redoBytes     // of its log, each
	memory        // MiB resident of the program, at its highest; the largest of several
	schedLatency  // ms by which the machine woke a thread of the highest priority late at most; 0 is not known

	metrics
)

// names are the figures' names in JSON.
var names = [metrics]string{
	"asked", "accepted", "refused", "failed", "committed", "requests_per_second", "per_second", "queued_per_second",
	"p50_ms", "p99_ms", "of_bare", "of_single", "cpu_us", "cost_of_bare", "cpu_program_us", "cpu_database_us", "cpu_redis_us", "cpu_crowd_us",
	"redis_scripts", "redis_commands", "redis_bytes_in", "redis_bytes_out", "redis_bytes_kept", "redis_busiest",
	"sql_statements", "sql_commits", "rows_written", "rows_read", "sql_bytes_in", "sql_bytes_out", "sql_fsyncs",
	"sql_redo_bytes", "memory_mib", "sched_latency_ms",
}

// figures are those of one round, or the medians of several.
type figures [metrics]float64

// medians returns the median of each figure.
func medians(rounds []figures) (mid figures) {
	for m := range metrics {
		all := make([]float64, 0, len(rounds))
		for _, f := range rounds {
			all = append(all, f[m])
		}
		mid[m] = median(all)
	}
	return mid
}

// median returns the middle value, the lower of two; the zero value of none.
func median[T cmp.Ordered](all []T) (none T) {
	if len(all) == 0 {
		return none
	}
	return slices.Sorted(slices.Values(all))[(len(all)-1)/2]
}

// named returns the figures by their JSON names, without those that are not numbers.
func (f figures) named() map[string]float64 {
	all := make(map[string]float64, metrics)
	for m, v := range f {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			all[names[m]] = v
		}
	}
	return all
}

// over returns a/b, or 0 if b is 0.
func over(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}
