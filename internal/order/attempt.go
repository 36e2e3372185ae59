package order

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/lock"
)

// ErrFallback says that a step left an attempt to a call of its own, because the attempt cannot go with the others. By
// itself an attempt may wait for its lock, take a unit from a sibling shard, and find the order of an earlier attempt.
var ErrFallback = errors.New("order: to be placed individually")

// Attempt is one request on its way to an order. The steps of place.go take many of them, of different users. Each
// has its own: its context, its lock and fence, its outcome.
type Attempt struct {
	// Context is the request's. Nothing is written for a request that has ended. It is never nil.
	Context context.Context //nolint:containedctx // the calls for many have no other place for it
	Sale    coupon.Coupon
	Order   Order       // as it will be: each step completes it
	Hold    Hold        // on its unit; the zero Hold before RESERVE
	Lease   *lock.Lease // of its user's lock; nil outside the lock
	Err     error       // why it is no order; nil while the steps go well
	HoldErr error       // why CONFIRM or RELEASE left its hold open

	// Traceparent is the trace of the request, for its entry in the queue; "" is none.
	Traceparent string
	// UntilEnd is the time until the sale ends, for a request whose entry may wait for so long.
	UntilEnd time.Duration

	onlyHeld bool // the attempt takes no unit that its request does not hold already

	entry  *Entry        // of the queue that it came from; nil for a request
	since  time.Time     // when the attempt at the entry began
	reread bool          // its coupon was read again after a refusal
	closed bool          // nothing is left to do with its hold
	done   chan struct{} // is closed when the attempt has left its batch; nil outside a batch
}

// newAttempt returns the attempt of a request.
func newAttempt(ctx context.Context, sale coupon.Coupon, o Order) *Attempt {
	return &Attempt{Context: ctx, Sale: sale, Order: o}
}

// Over returns an error if nothing more may be written for the attempt: its request or its lease has ended.
func (a *Attempt) Over() error {
	if a.Lease != nil {
		if err := a.Lease.Context().Err(); err != nil {
			return err
		}
	}
	return a.Context.Err()
}

// committed reports whether the order of the attempt's own hold is in the database.
func (a *Attempt) committed() bool { return a.Err == nil && a.Order.ID == a.Hold.OrderID }

// held reports whether the attempt has a hold that is still open.
func (a *Attempt) held() bool { return a.Hold.OrderID != 0 && !a.closed }

// leave takes the attempt out of the steps: the goroutine that waits for it goes on.
func (a *Attempt) leave() {
	if left := a.done; left != nil {
		a.done = nil // before the other goroutine goes on
		close(left)
	}
}

// attempts are on the steps together.
type attempts []*Attempt

// context returns the context of calls for all attempts. It ends with the deadline of the attempt that has the
// earliest. With several attempts it does not end when one request is cancelled. It has the values of the first.
func (all attempts) context() (context.Context, context.CancelFunc) {
	if len(all) == 1 {
		return withTimer(all[0].Context)
	}
	ctx := context.WithoutCancel(all[0].Context)
	var earliest time.Time
	for _, a := range all {
		if until, bounded := a.Context.Deadline(); bounded && (earliest.IsZero() || until.Before(earliest)) {
			earliest = until
		}
	}
	if earliest.IsZero() {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, earliest)
}

// only returns the attempts for which is holds.
func (all attempts) only(is func(a *Attempt) bool) (some attempts) {
	for _, a := range all {
		if is(a) {
			some = append(some, a)
		}
	}
	return some
}

// each returns what of returns for each attempt.
func each[T any](all attempts, of func(a *Attempt) T) []T {
	values := make([]T, len(all))
	for i, a := range all {
		values[i] = of(a)
	}
	return values
}

// single reports whether all is one attempt by itself. A batch may have one member as well, and the goroutine of a
// batch must not wait for a lock.
func (all attempts) single() bool { return len(all) == 1 && all[0].done == nil }

// leaveOthers marks an attempt that has to go on by itself, and why.
func (a *Attempt) leaveOthers(why error) {
	if a.Err = ErrFallback; why != nil {
		a.Err = fmt.Errorf("%w: %w", ErrFallback, why)
	}
}

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
