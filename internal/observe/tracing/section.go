package tracing

import (
	"context"
	"errors"
	"slices"
	"time"

	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/order"
)

// section is what the steps inside the locks tell the step around them.
type section struct {
	locked          []*order.Attempt
	held, unlocking time.Time
}

type sectionKey struct{}

// lock makes spans of lock, the time until the locks are held, and of unlock, which begins when
// the work inside the locks has ended. A lock that is left to its lease has no unlock.
func (t *Traces) lock(ctx context.Context, all []*order.Attempt, do func(ctx context.Context)) {
	var in section
	began := time.Now()
	do(context.WithValue(ctx, sectionKey{}, &in))
	ended := time.Now()
	for _, a := range all {
		switch {
		case !traced(a.Context):
		case !slices.Contains(in.locked, a):
			t.past(a.Context, "lock", began, ended, a.Err)
		default:
			t.past(a.Context, "lock", began, in.held, nil)
			if !errors.Is(a.Err, lock.ErrOutcomeUnknown) {
				t.past(a.Context, "unlock", in.unlocking, ended, nil)
			}
		}
	}
}

// work notes when the locks are held, and of which attempts.
func work(ctx context.Context, locked []*order.Attempt, do func(ctx context.Context)) {
	in, inside := ctx.Value(sectionKey{}).(*section)
	if !inside {
		do(ctx)
		return
	}
	in.locked, in.held = locked, time.Now()
	do(ctx)
	in.unlocking = time.Now()
}
