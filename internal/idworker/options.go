package idworker

import (
	"log/slog"
	"time"
)

// Options are the settings of a Snowflake. The zero value is good.
type Options struct {
	// Lease is how long a worker number outlives an instance that was killed.
	// Default 10 s.
	Lease time.Duration
	// Prefix begins the names of the keys. Default: seckill:
	Prefix string
	// MaxWait is how long a new holder waits for its clock to pass the moments
	// that were used before it; if it is further behind, it refuses. Default
	// half a lease.
	MaxWait time.Duration
	// Tolerance is how far the wall clock may go back unnoticed. Default 10 ms.
	Tolerance time.Duration
	// Now is the wall clock. Default time.Now.
	Now func() time.Time
	// Logger hears of numbers that are lost and found. Default slog.Default().
	Logger *slog.Logger
}

const defaultPrefix = "seckill:"

func (o Options) withDefaults() Options {
	if o.Prefix == "" {
		o.Prefix = defaultPrefix
	}
	if o.Lease == 0 {
		o.Lease = 10 * time.Second
	}
	if o.MaxWait == 0 {
		o.MaxWait = o.Lease / 2
	}
	if o.Tolerance == 0 {
		o.Tolerance = 10 * time.Millisecond
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o
}
