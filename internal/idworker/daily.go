package idworker

import (
	"cmp"
	"context"
	_ "embed" // the script
	"fmt"
	"math"
	"strconv"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

const (
	dailyName = "{id}:" // followed by yyyymmdd
	dailyKeep = 3       // days that a day's counter is kept
)

//go:embed daily.lua
var dailySource string

var dailyScript = redis.NewScript(dailySource)

// Daily makes ids of the second and of a counter in Redis that starts again every day. Clock
// and counter are the server's and are read in one step, so the clocks of instances do not
// matter. An id whose reply was lost is a gap.
//
// It is as unique as Redis remembers: a failover that forgets the last counts,
// to a server whose clock is behind, may repeat an id. The orders' key refuses a
// repeat to the same user; to another user it is an order of its own, of which
// the audit tells.
type Daily struct {
	client redis.Scripter
	name   string
	today  atomic.Int64 // as the server said last, yyyymmdd
}

// NewDaily returns a Daily on the counters in client, whose names begin with prefix. An empty
// prefix is the default of redis.prefix.
func NewDaily(client redis.Scripter, prefix string) *Daily {
	return &Daily{client: client, name: cmp.Or(prefix, defaultPrefix) + dailyName}
}

// Next makes an id with one call to Redis, and with two when a day begins.
func (d *Daily) Next(ctx context.Context) (int64, error) {
	r, err := d.count(ctx)
	if err == nil && len(r) == 1 {
		d.today.Store(r[0])
		r, err = d.count(ctx)
	}
	if err == nil && len(r) != 2 {
		err = fmt.Errorf("it is not %d, but %v", d.today.Load(), r)
	}
	if err != nil {
		return 0, fmt.Errorf("idworker: count today's id: %w", err)
	}
	return dailyID(r[0], r[1])
}

func (d *Daily) count(ctx context.Context) ([]int64, error) {
	today := strconv.FormatInt(d.today.Load(), 10)
	//nolint:wrapcheck // Next does
	return dailyScript.Run(ctx, d.client, []string{d.name + today}, Epoch.Unix(), dailyKeep, today).Int64Slice()
}

// dailyID joins the two halves, and refuses what would not stay positive or
// would run into the other half.
func dailyID(seconds, count int64) (int64, error) {
	switch {
	case seconds < 0:
		return 0, fmt.Errorf("%w: the server's clock is %d s before the epoch", ErrClockBack, -seconds)
	case seconds > math.MaxInt32 || count < 1 || count > math.MaxUint32:
		return 0, fmt.Errorf("idworker: second %d, count %d do not fit into an id", seconds, count)
	}
	return seconds<<32 | count, nil
}

// Close does nothing: there is nothing to release.
func (d *Daily) Close(context.Context) error { return nil }
