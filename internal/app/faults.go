package app

import (
	"net/http"
	"time"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/order"
)

// Faults break the program at places of the order path. Each function takes a part and returns it with points
// around its calls.
type Faults struct {
	Now        func() time.Time // the time of day, which a fault may set
	Backend    func(lock.Backend) lock.Backend
	Service    func(order.Deps) order.Deps
	Reconciler func(order.ReconcilerDeps) order.ReconcilerDeps
	Shards     func(coupon.Shards) coupon.Shards
	Admin      func(http.Handler) http.Handler

	// CalmInterval is how often a warning of one cause is logged. It is short, so that the log names each fault.
	CalmInterval time.Duration
}

// faults are of the process, because a fault ends it. An ordinary build has none.
var faults Faults

// SetFaults puts the points of f into all that is started later. The program calls it at most once, before anything
// starts, and only in a build with the tag faults.
func SetFaults(f Faults) { faults = f }

// calmInterval returns how often a warning of one cause is logged.
func calmInterval() time.Duration {
	if faults.CalmInterval > 0 {
		return faults.CalmInterval
	}
	return time.Minute
}

// faulty returns a part with its points, if there are any.
func faulty[T any](points func(T) T, part T) T {
	if points == nil {
		return part
	}
	return points(part)
}
