package order

import (
	"context"
	"errors"
	"fmt"

	"example.com/seckill/internal/lock"
)

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
		switch voided := s.orders.Void(ctx, *o); {
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

// resultOf reads what a request has led to: its order, ErrVoided, ErrKeyReused if the
// request was for another coupon, or ErrNotFound.
func (s *Service) resultOf(ctx context.Context, requestID string, couponID, userID int64) (Order, error) {
	o, err := s.orders.ByRequest(ctx, requestID, userID)
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

// closeHold confirms or releases the hold, depending on the outcome. It runs after the lock
// is released. With an unknown outcome the hold stays as it is, for the reconciler. A
// confirmation or release that fails is left to the reconciler too, so that it does not
// turn a committed order into an error.
func (s *Service) closeHold(ctx context.Context, h Hold, o Order, err error) (Order, error) {
	ctx, cancel := s.withCleanupDeadline(ctx)
	defer cancel()
	var left error
	switch {
	case errors.Is(err, ErrCommitUnknown):
		o.Status = InDoubt
		left = s.unresolved.PutUnresolved(ctx, o)
	case err == nil && o.ID == h.OrderID:
		left = s.stock.Confirm(ctx, h)
	default:
		// Refused, or the request already had an order, whose unit is not this one.
		left = s.stock.Release(ctx, h)
	}
	if left != nil {
		s.leftOpen(ctx, h, left)
	}
	if err != nil && !errors.Is(err, ErrCommitUnknown) {
		return Order{}, err
	}
	return o, err
}

// leftOpen logs that a hold is left to the reconciler.
func (s *Service) leftOpen(ctx context.Context, h Hold, err error) {
	s.log.WarnContext(ctx, "hold left open for the reconciler", "order", h.OrderID, "coupon", h.CouponID, "error", err)
}
