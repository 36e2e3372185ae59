// Package admission limits how many orders are made at once to what the stores serve well,
// lets some more requests wait for a moment, and refuses the rest before they cost anything.
//
//	request ─▶ a permit is free ──────────────────────────────▶ RESERVE … COMMIT ─▶ release the permit
//	        └▶ may it wait ─▶ WAIT, first come, first served ─▶┘
//	        └▶ too many wait, or it waited too long, or too little time is left ─▶ PACE ─▶ order.ErrOverloaded
//
// A refusal costs little, but its client is back at once, and thousands of such clients keep the
// processors so busy that no order is made in its time any more. So refusals are paced: a few are told at
// once, and so many a second after them; the rest are held for a moment, which costs no processor. A
// request that is held waits for no permit.
//
// An adaptive limiter finds the limit: it lowers it when orders begin to take longer than
// they used to, and raises it when that did not help. It does so between two bounds only,
// and begins at the upper one. With group commit an order takes longer the more are
// committed with it, and that is no overload: a limit that followed the latency alone would
// end where nothing is committed together.
//
// It does not promise a permit to any request. It is a package of its own because package
// order imports no libraries.
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
	MinConcurrent int           // lower bound of the limit on orders that are made at once
	MaxConcurrent int           // upper bound of that limit, and its first value
	MaxWaiting    int           // requests that may wait for a permit; one more is refused
	MaxWait       time.Duration // how long one of them may wait
	// MinBudget is the time that a request must have left when it is admitted.
	MinBudget time.Duration
	// OnRefused is called with the reason of each refusal: Full, Waited or Late. It may be nil.
	OnRefused func(reason string)
}

// The reasons of a refusal.
const (
	Full   = "full"   // MaxWaiting requests were waiting
	Waited = "waited" // for MaxWait
	Late   = "late"   // less than MinBudget was left when it came
)

// Admission implements order.Admission. Its methods are safe for concurrent use.
type Admission struct {
	o       Options
	limiter adaptivelimiter.AdaptiveLimiter[any]
	waiting atomic.Int64
	turns   sync.Mutex
	pace    *rate.Limiter // of refusals, guarded by turns
}

// How refusals are paced. The rates are of each processor: 500 refusals take some twentieth of its time.
const (
	refusalsPerSecond = 500
	refusalsAtOnce    = 128
	maxHold           = 5 * time.Second
)

// The limiter compares the orders of a window, at least minSamples of them, with those of the
// windows before. They are short, because a flash sale is over in seconds.
const (
	minWindow       = 250 * time.Millisecond
	maxWindow       = 2 * time.Second
	minSamples      = 50
	baselineWindows = 40 // what the last ten seconds were like is usual
)

// New returns an Admission. It need not be closed.
func New(o Options) *Admission {
	if o.OnRefused == nil {
		o.OnRefused = func(string) {}
	}
	limiter := adaptivelimiter.NewBuilder[any]().
		WithLimits(uint(o.MinConcurrent), uint(o.MaxConcurrent), uint(o.MaxConcurrent)).
		// By default the limit sinks to a few times the recent concurrency, so that after a
		// quiet hour the load of the opening second would find it at its lowest.
		WithMaxLimitFunc(func(int) float64 { return float64(o.MaxConcurrent) }).
		WithRecentWindow(minWindow, maxWindow, minSamples).
		WithBaselineWindow(baselineWindows).
		Build()
	cpus := runtime.GOMAXPROCS(0)
	return &Admission{o: o, limiter: limiter, pace: rate.NewLimiter(rate.Limit(refusalsPerSecond*cpus), refusalsAtOnce*cpus)}
}

// Admit implements order.Admission. It waits for a permit for as long as MaxWait and the deadline of ctx
// allow, and tells of a refusal when its turn has come, after five seconds at most and not after that deadline.
func (a *Admission) Admit(ctx context.Context) (release func(placed bool), err error) {
	permit, err := a.acquire(ctx)
	if err != nil {
		return nil, err
	}
	return func(placed bool) {
		if placed {
			permit.Record()
		} else {
			permit.Drop() // a refusal is quick whatever the stores are like
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
	// The library's own queue is bounded by a multiple of the limit, and would refuse some
	// requests that may wait.
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

// refuse returns the refusal when its turn has come, or ctx has ended.
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

// nextTurn takes the next turn to be told of a refusal, and returns how long that is to be waited for. If that is
// longer than maxHold it takes none, or the next would wait for turns that are not used, and returns a part of maxHold.
// The limiter takes back all of a turn only if it was the last one to be taken: hence the lock.
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

// Limit returns how many orders may be made at once now.
func (a *Admission) Limit() int { return a.limiter.Limit() }

// InFlight returns how many are being made. It may exceed a limit that was just lowered.
func (a *Admission) InFlight() int { return a.limiter.Inflight() }

// Waiting returns how many requests are waiting for a permit.
func (a *Admission) Waiting() int { return int(a.waiting.Load()) }
