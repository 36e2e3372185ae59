//go:build !faults

package app

import (
	"net/http"
	"time"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/order"
)

// An ordinary build has no fault points: faults.go has them, behind a build tag.

// ArmFaults returns the variables as they are.
func ArmFaults(environ []string) ([]string, error) { return environ, nil }

// calmInterval is how often a warning of one cause is logged.
const calmInterval = time.Minute

// ownClock is the machine's.
var ownClock func() time.Time

func faultyBackend(b lock.Backend) lock.Backend { return b }

func faultyService(p order.Deps) order.Deps { return p }

func faultyReconciler(p order.ReconcilerDeps) order.ReconcilerDeps { return p }

func faultyShards(s coupon.Shards) coupon.Shards { return s }

func faultyAdmin(h http.Handler) http.Handler { return h }
