package order

import (
	"context"
	"errors"
	"time"
)

// Get reads an order of the user. An order in doubt is one whose outcome no
// database row tells yet; while the tickets cannot be read, nothing is said to be
// not found.
func (s *Service) Get(ctx context.Context, id, userID int64) (Order, error) {
	o, err := s.orders.Get(ctx, id, userID)
	if !errors.Is(err, ErrNotFound) {
		return o, err
	}
	o, err = s.unresolved.Unresolved(ctx, id)
	switch {
	case errors.Is(err, ErrNotFound):
		return s.orders.Archived(ctx, id, userID)
	case err != nil:
		return Order{}, err
	}
	if o.UserID != userID {
		return Order{}, ErrNotFound
	}
	if o.Status == Queued {
		return s.queuePosition(ctx, o)
	}
	return s.resolveInDoubt(ctx, o, s.now().Sub(o.CreatedAt) >= inDoubtTimeout)
}

// inDoubtTimeout is after which an order in doubt that is asked for is given up. Nothing
// depends on it but that a slow commit may be waited for.
const inDoubtTimeout = 30 * time.Second

// doubtful says what is known of an order that has a ticket and no row of its id:
// the order that its request had from before, or Void if it can never be one. An old
// doubt is ended here: its hold may be gone with an older epoch, and then there is
// nothing that the reconciler would find.
func (s *Service) resolveInDoubt(ctx context.Context, o Order, old bool) (Order, error) {
	found, err := s.resultOf(ctx, o.RequestID, o.CouponID, o.UserID)
	if errors.Is(err, ErrNotFound) && old {
		if err = s.orders.Void(ctx, o); err != nil && !errors.Is(err, ErrDuplicate) {
			return Order{}, err
		}
		found, err = s.resultOf(ctx, o.RequestID, o.CouponID, o.UserID)
	}
	switch {
	case errors.Is(err, ErrNotFound):
		o.Status = InDoubt
	case errors.Is(err, ErrVoided), errors.Is(err, ErrKeyReused):
		o.Status, o.Slot = Void, 0
	default:
		return found, err
	}
	return o, nil
}

// queued says where in the queue an order is. When it should have come to its end
// long ago, or its queue has ended with its epoch, it is decided here.
func (s *Service) queuePosition(ctx context.Context, o Order) (Order, error) {
	over := s.now().Sub(o.CreatedAt) >= inDoubtTimeout
	if sale, err := s.sales.Get(ctx, o.CouponID); err == nil && sale.Epoch > o.Position.Epoch {
		over = true
	}
	if over {
		return s.resolveInDoubt(ctx, o, true)
	}
	if s.queue != nil {
		if ahead, err := s.queue.Ahead(ctx, o); err == nil { // a place that cannot be told is none to fail for
			o.Position.Ahead = ahead
			o.Position.RetryAfter = s.rate.retryAfter(s.now(), o)
		}
	}
	return o, nil
}

// List reads up to limit orders of the user with an id below before (0 is no
// bound), newest first.
func (s *Service) List(ctx context.Context, userID, before int64, limit int) ([]Order, error) {
	return s.orders.List(ctx, userID, before, limit)
}
