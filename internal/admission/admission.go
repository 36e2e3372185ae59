// Package admission limits the orders in progress to a number that the stores serve well.
//
// Some more requests may wait for a permit for a moment. The package rejects the rest before they cost anything:
//
//	request ─▶ a permit is free ──────────────────────────────▶ RESERVE … COMMIT ─▶ release the permit
//	        └▶ may it wait ─▶ WAIT, first come, first served ─▶┘
//	        └▶ too many wait, or it waited too long, or too little time is left ─▶ PACE ─▶ order.ErrOverloaded
//
// A rejection costs little, but its client returns at once. Thousands of such clients keep the processors so busy
// that no order finishes in its time. So the package paces the rejections. It returns the first few at once, and later
// ones at a fixed rate. It holds each of the others for a moment, which costs no processor time. A request that is held
// does not wait for a permit.
//
// An adaptive limiter finds the limit. It lowers the limit when orders start to take longer than before, and raises
// it when the lower limit did not help. The limit stays between two bounds, and starts at the upper bound. With group
// commit an order takes longer if more orders are in its transaction, and this is not an overload. If the limit
// followed only the latency, it would end where each order is committed by itself.
//
// The package does not promise a permit to any request. It is separate from package order because order imports no
// libraries.
package admission

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/failsafe-go/failsafe-go/adaptivelimiter"
	"golang.org/x/time/rate"

	"example.com/seckill/internal/order"
)

// Options configure an Admission.
type Options struct {
	MinConcurrent int           // lower bound of the limit on orders in progress
	MaxConcurrent int           // upper bound of the limit, and its first value
	MaxWaiting    int           // requests that may wait for a permit; Admit rejects the next one
	MaxWait       time.Duration // the longest wait of one request
	// MinBudget is the time that a request must have left when it is admitted.
	MinBudget time.Duration
	// OnRefused is called with the reason of each rejection: Full, Waited or Late. It may be nil.
	OnRefused func(reason string)
}

// The reasons of a rejection.
const (
	Full   = "full"   // MaxWaiting requests were waiting
	Waited = "waited" // the request waited for as long as it may
	Late   = "late"   // the request arrived with MinBudget or less
)

// Admission implements order.Admission. Its methods are safe for concurrent use.
type Admission struct {
	o       Options
	limiter adaptivelimiter.AdaptiveLimiter[any]
	waiting atomic.Int64
	turns   sync.Mutex
	pace    *rate.Limiter // of rejections, guarded by turns
}

// The pace of rejections. The first two values are per processor: 500 rejections take about 5 % of its time.
const (
	refusalsPerSecond = 500
	refusalsAtOnce    = 128
	maxHold           = 5 * time.Second
)

// The limiter compares the orders of a window with the orders of the windows before it. A window has at least
// minSamples orders. Windows are short, because a flash sale is over in seconds.
const (
	minWindow       = 250 * time.Millisecond
	maxWindow       = 2 * time.Second
	minSamples      = 50
	baselineWindows = 40 // the limiter compares with the last ten seconds
)

// New returns an Admission. It need not be closed.
func New(o Options) *Admission {
	if o.OnRefused == nil {
		o.OnRefused = func(string) {}
	}
	limiter := adaptivelimiter.NewBuilder[any]().
		WithLimits(uint(o.MinConcurrent), uint(o.MaxConcurrent), uint(o.MaxConcurrent)).
		// By default the limit sinks to a few times the recent concurrency. After a quiet hour it would be at its
		// lowest when a sale opens.
		WithMaxLimitFunc(func(int) float64 { return float64(o.MaxConcurrent) }).
		WithRecentWindow(minWindow, maxWindow, minSamples).
		WithBaselineWindow(baselineWindows).
		Build()
	cpus := runtime.GOMAXPROCS(0)
	return &Admission{o: o, limiter: limiter, pace: rate.NewLimiter(rate.Limit(refusalsPerSecond*cpus), refusalsAtOnce*cpus)}
}

// Admit implements order.Admission. It waits for a permit for as long as MaxWait and the deadline of ctx allow. It
// returns a rejection in its turn, which comes within five seconds and not after the deadline.
func (a *Admission) Admit(ctx context.Context) (release func(placed bool), err error) {
	permit, err := a.acquire(ctx)
	if err != nil {
		return nil, err
	}
	return func(placed bool) {
		if placed {
			permit.Record()
		} else {
			permit.Drop() // a rejection is quick even if the stores are slow
		}
	}, nil
}

func (a *Admission) acquire(ctx context.Context) (adaptivelimiter.Permit, error) {
	wait := a.o.MaxWait
	if until, bounded := ctx.Deadline(); bounded {
		left := time.Until(until) - a.o.MinBudget
		if left <= 0 {
			return nil, a.refuse(ctx, Late)
		}
		wait = min(wait, left)
	}
	if permit, ok := a.limiter.TryAcquirePermit(); ok {
		return permit, nil
	}
	// The library bounds its own queue by a multiple of the limit.
	// That bound would reject some requests that may wait.
	if a.waiting.Add(1) > int64(a.o.MaxWaiting) {
		a.waiting.Add(-1)
		return nil, a.refuse(ctx, Full)
	}
	permit, err := a.limiter.AcquirePermitWithMaxWait(ctx, wait)
	a.waiting.Add(-1)
	switch {
	case errors.Is(err, adaptivelimiter.ErrExceeded):
		return nil, a.refuse(ctx, Waited)
	case err == nil && ctx.Err() != nil: // the permit became free as the client went away
		permit.Drop()
		err = ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("wait for admission: %w", err)
	}
	return permit, nil
}

// refuse returns the rejection when its turn has come, or ctx has ended.
func (a *Admission) refuse(ctx context.Context, reason string) error {
	a.o.OnRefused(reason)
	if wait := a.nextTurn(); wait > 0 {
		held := time.NewTimer(wait)
		defer held.Stop()
		select {
		case <-held.C:
		case <-ctx.Done():
		}
	}
	return fmt.Errorf("%w: %s", order.ErrOverloaded, reason)
}

// nextTurn takes the next turn for a rejection, and returns the time until this turn. If the time is longer than
// maxHold, nextTurn gives the turn back and returns a part of maxHold. If it kept the turn, later rejections would wait
// for a turn that no request uses. The limiter takes back the whole turn only if no later turn was taken. Therefore
// nextTurn holds the lock.
func (a *Admission) nextTurn() time.Duration {
	a.turns.Lock()
	defer a.turns.Unlock()
	turn := a.pace.Reserve()
	wait := turn.Delay()
	if wait > maxHold {
		turn.Cancel()
		wait = maxHold/2 + rand.N(maxHold/2) //nolint:gosec // not a secret
	}
	return wait
}

// Limit returns the present limit on orders in progress.
func (a *Admission) Limit() int { return a.limiter.Limit() }

// InFlight returns the number of orders in progress. It may exceed a limit that was just lowered.
func (a *Admission) InFlight() int { return a.limiter.Inflight() }

// Waiting returns the number of requests that wait for a permit.
func (a *Admission) Waiting() int { return int(a.waiting.Load()) }
