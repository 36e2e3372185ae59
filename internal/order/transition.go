package order

import (
	"context"
	"errors"
	"fmt"
)

// Pay pays a pending order of the user. Paying it again returns the same order; any other
// state, or an order that has expired, is ErrConflict.
func (s *Service) Pay(ctx context.Context, id, userID int64) (Order, error) {
	now := s.now()
	return s.transition(ctx, id, userID, Paid, func(ctx context.Context, tx Tx, _ Order) (bool, error) {
		return tx.Pay(ctx, id, userID, now)
	})
}

// Cancel cancels a pending order of the user and restocks its unit. Cancelling it again
// returns the same order; any other state is ErrConflict.
//
// Unlike Pay it has something to do after the commit, restockNow, and so it leaves time for
// that.
func (s *Service) Cancel(ctx context.Context, id, userID int64) (Order, error) {
	ctx, cancel := withTimer(s.workContext(ctx))
	defer cancel()
	var back *Restock
	o, err := s.transition(ctx, id, userID, Cancelled, func(ctx context.Context, tx Tx, o Order) (bool, error) {
		back = nil
		moved, err := tx.Cancel(ctx, id, userID)
		if err != nil || !moved {
			return false, err
		}
		r, err := tx.Restock(ctx, o)
		if err != nil {
			return false, err
		}
		back = &r[0]
		return true, nil
	})
	if err == nil && back != nil {
		s.restockNow(ctx, *back)
	}
	return o, err
}

// transition moves a pending order to another state in a transaction. The state is checked
// and written by one statement, so of payment, cancellation and expiry exactly one wins.
func (s *Service) transition(ctx context.Context, id, userID int64, to Status,
	step func(ctx context.Context, tx Tx, o Order) (bool, error),
) (Order, error) {
	o, err := s.db.Get(ctx, id, userID)
	if err != nil {
		return Order{}, err
	}
	moved := false
	err = s.db.InTx(ctx, func(ctx context.Context, tx Tx) (err error) {
		moved, err = step(ctx, tx, o)
		return err
	})
	if errors.Is(err, ErrCommitUnknown) {
		// The client may repeat the request, whichever way it went.
		return Order{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if err != nil {
		return Order{}, err
	}
	if o, err = s.db.Get(ctx, id, userID); err != nil {
		return Order{}, err
	}
	if !moved && o.Status != to {
		return Order{}, fmt.Errorf("%w: it is %s", ErrConflict, o.Status)
	}
	return o, nil
}

// restockNow restocks the shards at once. If that fails, the outbox row that was committed
// with the transition stays due, and the relay delivers it.
func (s *Service) restockNow(ctx context.Context, r Restock) {
	ctx, cancel := s.withCleanupDeadline(ctx)
	defer cancel()
	if err := s.shards.Restock(ctx, r); err != nil {
		s.log.WarnContext(ctx, "restock left to the relay", "order", r.OrderID, "error", err)
	}
}
