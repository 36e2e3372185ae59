//go:build faults

package app

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/faults"
	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/order"
)

// faultVariable arms faults from the start on; no ordinary build knows it.
const faultVariable = "SECKILL_FAULT="

// points belongs to the process: a fault ends it.
var points faults.Points

// ArmFaults arms the faults of SECKILL_FAULT, and returns the other variables.
func ArmFaults(environ []string) ([]string, error) {
	var rest []string
	for _, v := range environ {
		text, armed := strings.CutPrefix(v, faultVariable)
		if !armed {
			rest = append(rest, v)
			continue
		}
		all, err := faults.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("SECKILL_FAULT: %w", err)
		}
		points.Arm(all...)
	}
	return rest, nil
}

// calmInterval is so short that each fault that the same program meets is named.
const calmInterval = 100 * time.Millisecond

// ownClock is the time of day, which a fault may set.
var ownClock = points.Now

func faultyBackend(b lock.Backend) lock.Backend { return points.Backend(b) }

func faultyService(p order.Deps) order.Deps { return points.Service(p) }

func faultyReconciler(p order.ReconcilerDeps) order.ReconcilerDeps { return points.Reconciler(p) }

func faultyShards(s coupon.Shards) coupon.Shards { return points.Shards(s) }

func faultyAdmin(h http.Handler) http.Handler { return points.Handler(h) }
