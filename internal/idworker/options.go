package idworker

import (
	"cmp"
	"log/slog"
	"time"
)

// tolerance is how far the wall clock may go back before Next refuses.
const tolerance = 10 * time.Millisecond

// Options configure a Snowflake. The zero value is ready to use.
type Options struct {
	// Lease is how long a worker number outlives an instance that was killed.
	// Default 10 s.
	Lease time.Duration
	// Prefix begins the names of the keys. Default: seckill:
	Prefix string
	// Now is the wall clock. Default time.Now.
	Now func() time.Time
	// Logger gets the worker numbers that are lost and leased. Default slog.Default().
	Logger *slog.Logger
}

const defaultPrefix = "seckill:"

func (o Options) withDefaults() Options {
	o.Prefix = cmp.Or(o.Prefix, defaultPrefix)
	o.Lease = cmp.Or(o.Lease, 10*time.Second)
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Logger = cmp.Or(o.Logger, slog.Default())
	return o
}
