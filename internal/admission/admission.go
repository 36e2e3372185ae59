// Package admission lets as many orders be made at once as the stores serve well, lets
// some more requests wait for a moment, and refuses the rest before they cost anything.
//
//	request ─▶ a place is free ──────────────────────────────▶ RESERVE … COMMIT ─▶ its place is free
//	        └▶ room to wait ─▶ WAIT, first come first served ─▶┘
//	        └▶ none, or waited too long, or too little time is left ─▶ order.ErrOverloaded
//
// How many are at work at once is found by an adaptive limiter: when orders begin to take
// longer than they used to, it lets fewer in, and more when that was for nothing. It does
// so between two bounds only, and begins at the upper one. With group commit an order
// takes longer the more are committed with it, and that is no overload: a limit that
// followed the time alone would end where nothing is committed together.
//
// It does not promise anybody a place. The room exists because package order knows no
// libraries.
package admission

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/failsafe-go/failsafe-go/adaptivelimiter"

	"seckill/internal/order"
)

// Options bound an Admission.
type Options struct {
	MinConcurrent int           // the limit on orders at work at once is never below this,
	MaxConcurrent int           // never above this, and begins there
	MaxWaiting    int           // requests that may wait; one more is refused at once
	MaxWait       time.Duration // how long one of them may wait
	// MinBudget is the time that a request must have left when its order is begun.
	MinBudget time.Duration
	// OnRefused is called with the reason of each refusal: Full, Waited or Late. It may be nil.
	OnRefused func(reason string)
}

// Why a request was refused.
const (
	Full   = "full"   // too many waited already
	Waited = "waited" // as long as it may
	Late   = "late"   // too little was left of its time when it came
)

// Admission is an order.Admission. Its methods are safe for concurrent use.
type Admission struct {
	o       Options
	limiter adaptivelimiter.AdaptiveLimiter[any]
	waiting atomic.Int64
}

// The limiter looks at the orders of each window, of a few samples at least. A flash
// sale is over in seconds, and the library's own window is one.
const (
	minWindow       = 250 * time.Millisecond
	maxWindow       = 2 * time.Second
	minSamples      = 50
	baselineWindows = 40 // windows: what is usual is what the last ten seconds were like
)

// New makes an Admission. Nothing of it needs closing.
func New(o Options) *Admission {
	if o.OnRefused == nil {
		o.OnRefused = func(string) {}
	}
	limiter := adaptivelimiter.NewBuilder[any]().
		WithLimits(uint(o.MinConcurrent), uint(o.MaxConcurrent), uint(o.MaxConcurrent)).
		// By default the limit sinks to a few times what was at work lately, so that after
		// a quiet hour the crowd of the opening second would find it at its lowest.
		WithMaxLimitFunc(func(int) float64 { return float64(o.MaxConcurrent) }).
		WithRecentWindow(minWindow, maxWindow, minSamples).
		WithBaselineWindow(baselineWindows).
		Build()
	return &Admission{o: o, limiter: limiter}
}

// Admit waits for a place, for as long as the options and the deadline of ctx allow.
func (a *Admission) Admit(ctx context.Context) (leave func(bought bool), err error) {
	place, err := a.acquire(ctx)
	if err != nil {
		return nil, err
	}
	return func(bought bool) {
		if bought {
			place.Record()
		} else {
			place.Drop() // a refusal is quick, and says nothing of how the stores do
		}
	}, nil
}

func (a *Admission) acquire(ctx context.Context) (adaptivelimiter.Permit, error) {
	wait := a.o.MaxWait
	if until, bounded := ctx.Deadline(); bounded {
		left := time.Until(until) - a.o.MinBudget
		if left <= 0 {
			return nil, a.refuse(Late)
		}
		wait = min(wait, left)
	}
	if place, ok := a.limiter.TryAcquirePermit(); ok {
		return place, nil
	}
	// The library's own queue is as long as so many times the limit, and refuses some of
	// those for whom there is room.
	if a.waiting.Add(1) > int64(a.o.MaxWaiting) {
		a.waiting.Add(-1)
		return nil, a.refuse(Full)
	}
	defer a.waiting.Add(-1)
	place, err := a.limiter.AcquirePermitWithMaxWait(ctx, wait)
	switch {
	case errors.Is(err, adaptivelimiter.ErrExceeded):
		return nil, a.refuse(Waited)
	case err == nil && ctx.Err() != nil: // the place came as the client went
		place.Drop()
		err = ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("wait to buy: %w", err)
	}
	return place, nil
}

func (a *Admission) refuse(reason string) error {
	a.o.OnRefused(reason)
	return fmt.Errorf("%w: %s", order.ErrOverloaded, reason)
}

// Limit is how many orders may be at work at once now.
func (a *Admission) Limit() int { return a.limiter.Limit() }

// InFlight is how many orders are. It may be above a limit that has just fallen.
func (a *Admission) InFlight() int { return a.limiter.Inflight() }

// Waiting is how many requests wait.
func (a *Admission) Waiting() int { return int(a.waiting.Load()) }
