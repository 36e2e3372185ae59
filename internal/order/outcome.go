package order

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"example.com/seckill/internal/lock"
)

// resolve finds out the meaning of an ambiguous error of the transaction, for all attempts at once. Each has the
// time of its own request for that.
func (s *Service) resolve(locked attempts) {
	var all sync.WaitGroup
	for _, a := range locked {
		if errors.Is(a.Err, ErrCommitUnknown) || errors.Is(a.Err, ErrDuplicate) {
			all.Go(func() { a.Err = s.resolveOutcome(a.Context, &a.Order, a.Err) })
		}
	}
	all.Wait()
}

// resolveOutcome turns an ambiguous transaction error into a definite one. The caller must
// still hold the user's lock.
//
// After a failed commit the order may be there or not, or may yet appear. So a void order
// is written under the same request id. If the database takes it, the order can never be
// committed; if it is a duplicate, the order was. An error that stays ErrCommitUnknown is
// wrapped in lock.ErrOutcomeUnknown, which keeps the lock from being released.
func (s *Service) resolveOutcome(ctx context.Context, o *Order, err error) error {
	if err == nil {
		return nil
	}
	unknown := errors.Is(err, ErrCommitUnknown)
	if !unknown && !errors.Is(err, ErrDuplicate) {
		return err
	}
	ctx, cancel := s.withCleanupDeadline(ctx)
	defer cancel()
	if unknown {
		switch voided := s.db.Void(ctx, *o); {
		case voided == nil:
			return fmt.Errorf("%w: %s", ErrVoided, err.Error()) // the outcome is known: err is not wrapped
		case !errors.Is(voided, ErrDuplicate):
			return fmt.Errorf("%w: %w: %w", lock.ErrOutcomeUnknown, err, voided)
		}
	}
	found, ferr := s.resultOf(ctx, o.RequestID, o.CouponID, o.UserID)
	switch {
	case ferr == nil:
		*o = found
		return nil
	case errors.Is(ferr, ErrVoided), errors.Is(ferr, ErrKeyReused):
		return ferr
	case errors.Is(ferr, ErrNotFound):
		// The duplicate is of the order's id and not of the request: this order can never
		// be inserted.
		return fmt.Errorf("%w: order id %d was issued twice", ErrUnavailable, o.ID)
	}
	// The request has an order that cannot be read now: its hold must not be released.
	return fmt.Errorf("%w: %w: %w", lock.ErrOutcomeUnknown, ErrCommitUnknown, ferr)
}

// resultOf reads the outcome of a request: its order, ErrVoided, ErrKeyReused if the
// request was for another coupon, or ErrNotFound.
func (s *Service) resultOf(ctx context.Context, requestID string, couponID, userID int64) (Order, error) {
	o, err := s.db.ByRequest(ctx, requestID, userID)
	switch {
	case err != nil:
		return Order{}, err
	case o.CouponID != couponID:
		return Order{}, ErrKeyReused
	case o.Status == Void:
		return Order{}, ErrVoided
	}
	return o, nil
}

// close ends the hold of each attempt as its outcome says, outside the lock: the user's next request need not wait
// for that. A hold that cannot be ended is left to the reconciler, so that a committed order does not become an error.
// The attempts leave.
func (s *Service) close(ctx context.Context, held attempts) {
	alone := held.only(func(a *Attempt) bool { return errors.Is(a.Err, ErrFallback) })
	decided := held.only(func(a *Attempt) bool { return !errors.Is(a.Err, ErrFallback) })
	for _, a := range alone {
		a.leave() // its request comes again, with the hold
	}
	if len(decided) == 0 {
		return
	}
	if decided[0].entry != nil {
		s.closeEntries(ctx, decided, held.single()) // queue.go
		return
	}
	committed := decided.only((*Attempt).committed)
	inDoubt := decided.only(func(a *Attempt) bool { return errors.Is(a.Err, ErrCommitUnknown) })
	// Refused, or the request already had an order, whose unit is not this one.
	refused := decided.only(func(a *Attempt) bool { return !a.committed() && !errors.Is(a.Err, ErrCommitUnknown) })
	ctx, cancel := s.withCleanupDeadline(ctx)
	defer cancel()
	s.end(ctx, committed, s.confirm)
	s.end(ctx, inDoubt, s.leaveInDoubt)
	s.end(ctx, refused, s.release)
}

// end ends holds by one call for all, and lets their attempts leave.
func (s *Service) end(ctx context.Context, all attempts, by func(context.Context, attempts) []error) {
	for i, err := range by(ctx, all) {
		a := all[i]
		if err != nil {
			s.log.WarnContext(ctx, "hold left open for the reconciler", "order", a.Hold.OrderID, "coupon", a.Hold.CouponID, "error", err)
		}
		a.closed = true
		a.leave()
	}
}

// confirm keeps the units of committed orders sold.
func (s *Service) confirm(ctx context.Context, all attempts) []error {
	return s.endHolds(ctx, StepConfirm, all, s.shards.Confirm)
}

// release puts units back.
func (s *Service) release(ctx context.Context, all attempts) []error {
	return s.endHolds(ctx, StepRelease, all, s.shards.Release)
}

// endHolds ends holds by one call.
func (s *Service) endHolds(ctx context.Context, step Step, all attempts, end func(context.Context, []Hold) []error) []error {
	s.step(ctx, step, all, func(ctx context.Context) {
		for i, err := range end(ctx, each(all, holdOf)) {
			all[i].HoldErr = err
		}
	})
	return each(all, func(a *Attempt) error { return a.HoldErr })
}

func holdOf(a *Attempt) Hold { return a.Hold }

// leaveInDoubt leaves holds as they are, for the reconciler, and lets every instance answer for their orders.
func (s *Service) leaveInDoubt(ctx context.Context, all attempts) []error {
	for _, a := range all {
		a.Order.Status = InDoubt
	}
	return s.putUnresolved(ctx, all)
}

// putUnresolved lets every instance answer for orders that have no row yet.
func (s *Service) putUnresolved(ctx context.Context, all attempts) []error {
	if len(all) == 0 {
		return nil
	}
	return s.shards.PutUnresolved(ctx, each(all, func(a *Attempt) Order { return a.Order }))
}

// withCause wraps the error of a call that was cancelled in the cause of the first of all
// that has ended.
func withCause(err error, all ...context.Context) error {
	if !errors.Is(err, context.Canceled) {
		return err
	}
	for _, ctx := range all {
		if ctx.Err() != nil {
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
	}
	return err
}

// lockError wraps an error of the lock in the error of this package that it means.
func lockError(err error) error {
	switch {
	case err == nil, errors.Is(err, ErrCommitUnknown), errors.Is(err, ErrFallback):
		return err
	case errors.Is(err, lock.ErrNotAcquired):
		return fmt.Errorf("%w: %w", ErrBusy, err)
	case errors.Is(err, lock.ErrUnavailable), errors.Is(err, lock.ErrClosed),
		errors.Is(err, lock.ErrLost), errors.Is(err, ErrStaleFence):
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return err
}
