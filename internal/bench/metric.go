package bench

import (
	"cmp"
	"math"
	"slices"
)

// metric is one figure of a round.
type metric int

// The figures of a round. Those "each" are divided by the answers that the path is
// about.
const (
	asked metric = iota
	accepted
	refused
	failed
	committed
	requestRate // answered requests per second, of every kind
	rate        // answers per second that the path is about
	queuedRate  // 202 per second
	p50         // ms, of those answers
	p99         // ms
	ofBare      // rate, of the bare route's in the same round
	ofSingle    // rate, of single commit's in the same round

	cpuProgram // µs each
	cpuDatabase
	cpuRedis
	cpuCrowd
	redisScripts  // calls of scripts, each
	redisCommands // commands beside them and inside them, each
	redisIn       // bytes that Redis was sent, each
	redisOut      // bytes that it answered, each
	redisMemory   // bytes that it keeps more, each
	busiest       // share of the scripts that the busiest Redis ran
	statements    // each
	commits       // each
	rowsWritten   // each
	rowsRead      // each
	databaseIn    // bytes, each
	databaseOut   // bytes, each
	fsyncs        // that InnoDB counts, each
	redoBytes     // of its log, each
	memory        // MiB resident of the program, at its highest; of the largest of several

	metrics
)

// names are the figures' names in JSON.
var names = [metrics]string{
	"asked", "accepted", "refused", "failed", "committed", "requests_per_second", "per_second", "queued_per_second",
	"p50_ms", "p99_ms", "of_bare", "of_single", "cpu_program_us", "cpu_database_us", "cpu_redis_us", "cpu_crowd_us",
	"redis_scripts", "redis_commands", "redis_bytes_in", "redis_bytes_out", "redis_bytes_kept", "redis_busiest",
	"sql_statements", "sql_commits", "rows_written", "rows_read", "sql_bytes_in", "sql_bytes_out", "sql_fsyncs",
	"sql_redo_bytes", "memory_mib",
}

// figures are those of one round, or the medians of several.
type figures [metrics]float64

// medians takes every figure for itself.
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

// median is the middle one, the lower of two; 0 of none.
func median[T cmp.Ordered](all []T) (none T) {
	if len(all) == 0 {
		return none
	}
	return slices.Sorted(slices.Values(all))[(len(all)-1)/2]
}

// named is how figures are written as JSON: none that is not a number.
func (f figures) named() map[string]float64 {
	all := make(map[string]float64, metrics)
	for m, v := range f {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			all[names[m]] = v
		}
	}
	return all
}

// over divides, and is 0 where there is nothing to divide by.
func over(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}
