package order

import (
	"context"
	"errors"
	"time"
)

// Get returns an order of the user. An order without a row in the database may be Queued or
// InDoubt; while that cannot be read, Get returns the error and never ErrNotFound.
func (s *Service) Get(ctx context.Context, id, userID int64) (Order, error) {
	if o, committed := s.polls.wait(ctx, id, userID); committed {
		return o, nil
	}
	return s.read(ctx, id, userID)
}

// read is Get without the wait for a commit.
func (s *Service) read(ctx context.Context, id, userID int64) (Order, error) {
	o, err := s.db.Get(ctx, id, userID)
	if !errors.Is(err, ErrNotFound) {
		return o, err
	}
	o, err = s.shards.Unresolved(ctx, id)
	switch {
	case errors.Is(err, ErrNotFound):
		return s.db.Archived(ctx, id, userID)
	case err != nil:
		return Order{}, err
	}
	if o.UserID != userID {
		return Order{}, ErrNotFound
	}
	if o.Status == Queued {
		return s.queuePosition(ctx, o)
	}
	if s.now().Sub(o.CreatedAt) >= inDoubtTimeout {
		return s.voidInDoubt(ctx, o)
	}
	return s.resolveInDoubt(ctx, o)
}

// inDoubtTimeout is the age at which a read voids an order in doubt. Correctness does not
// depend on it: it only bounds how long a slow commit is waited for.
const inDoubtTimeout = 30 * time.Second

// resolveInDoubt returns the state of an order that has no row of its id: the order that
// its request had before, Void if it can never be one, or InDoubt.
func (s *Service) resolveInDoubt(ctx context.Context, o Order) (Order, error) {
	found, err := s.resultOf(ctx, o.RequestID, o.CouponID, o.UserID)
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

// voidInDoubt is resolveInDoubt for an order that must not stay in doubt: it writes a void
// order in its place, unless there is an order by then. The reconciler cannot always do
// that, because the hold of the order may be gone with an older epoch.
func (s *Service) voidInDoubt(ctx context.Context, o Order) (Order, error) {
	found, err := s.resolveInDoubt(ctx, o)
	if err != nil || found.Status != InDoubt {
		return found, err
	}
	if err := s.db.Void(ctx, o); err != nil && !errors.Is(err, ErrDuplicate) {
		return Order{}, err
	}
	return s.resolveInDoubt(ctx, o)
}

// queuePosition returns a queued order with its position. An order that should have been
// processed long ago, or whose queue has ended with its epoch, is decided here.
func (s *Service) queuePosition(ctx context.Context, o Order) (Order, error) {
	over := s.now().Sub(o.CreatedAt) >= inDoubtTimeout
	if sale, err := s.sales.Get(ctx, o.CouponID); err == nil && sale.Epoch > o.Position.Epoch {
		over = true
	}
	if over {
		return s.voidInDoubt(ctx, o)
	}
	if s.queue != nil {
		if ahead, err := s.queue.Ahead(ctx, o); err == nil { // an unknown position is no reason to fail
			o.Position.Ahead = ahead
			o.Position = s.rate.estimate(s.now(), o)
		}
	}
	return o, nil
}

// List returns up to limit orders of the user with an id below before (0 is no bound),
// newest first.
func (s *Service) List(ctx context.Context, userID, before int64, limit int) ([]Order, error) {
	return s.db.List(ctx, userID, before, limit)
}
