//go:build faults

package main

import (
	"fmt"
	"strings"
	"time"

	"example.com/seckill/internal/app"
	"example.com/seckill/internal/testing/faults"
)

// faultVariable arms faults from the start on; no ordinary build knows it.
const faultVariable = "SECKILL_FAULT="

// points belongs to the process: a fault ends it.
var points faults.Points

// armFaults arms the faults of SECKILL_FAULT, and returns the other variables.
func armFaults(environ []string) ([]string, error) {
	app.SetFaults(app.Faults{
		Now: points.Now, Backend: points.Backend, Service: points.Service, Reconciler: points.Reconciler,
		Shards: points.Shards, Admin: points.Handler, CalmInterval: 100 * time.Millisecond,
	})
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
