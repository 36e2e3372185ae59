package order

import (
	"context"
	"time"
)

// A request has one budget, its deadline, and must be answered by then. A part of it is reserved for the steps that
// decide the answer after the transaction:
//
//	├── reserve, lock, transaction ──────────┼─ resolveOutcome ─┼─ closeHold ─┤ deadline
//	                                   work deadline
//
// If the work ends earlier, each of these steps has more time, up to Deps.Cleanup.

// cleanups is how many cleanups may follow each other.
const cleanups = 2

// cleanupShare returns the least time of each cleanup: an eighth of Deps.Cleanup.
func (s *Service) cleanupShare() time.Duration { return s.cleanupIn / 8 }

// working is a context that is over at the work deadline. Err reads the clock, and Done is the one of the request,
// because a timer for each order costs more than a look at the clock. Most orders wait for another goroutine, which has
// a timer. An order that waits by itself uses withTimer.
type working struct {
	context.Context //nolint:containedctx // it is the request's, with another deadline

	until time.Time
}

// Deadline implements context.Context.
func (w working) Deadline() (time.Time, bool) { return w.until, true }

// Err implements context.Context.
func (w working) Err() error {
	err := w.Context.Err()
	if err == nil && !time.Now().Before(w.until) {
		return context.DeadlineExceeded
	}
	return err
}

// workContext returns the context in which an order is made: it is over early enough to leave time for
// the cleanups.
func (s *Service) workContext(ctx context.Context) context.Context {
	until, bounded := ctx.Deadline()
	if !bounded {
		return ctx
	}
	// Of a short budget, cleaning up gets a quarter.
	return working{ctx, until.Add(-min(cleanups*s.cleanupShare(), time.Until(until)/4))}
}

// withTimer returns a context that ends at the deadline of ctx.
func withTimer(ctx context.Context) (context.Context, context.CancelFunc) {
	if until, bounded := ctx.Deadline(); bounded {
		return context.WithDeadline(ctx, until)
	}
	return context.WithCancel(ctx)
}

// withCleanupDeadline returns the context of a cleanup, which runs even if the client is gone.
// ctx is the one of workContext.
func (s *Service) withCleanupDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	in := s.cleanupIn
	if until, bounded := ctx.Deadline(); bounded {
		in = min(in, max(0, time.Until(until))+s.cleanupShare())
	}
	return context.WithTimeout(context.WithoutCancel(ctx), in)
}
