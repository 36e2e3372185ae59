package order

import (
	"context"
	"errors"
	"fmt"
)

// Pay pays a pending order of the user. Paying a paid order gives the same answer;
// an order in any other state, or out of time, is ErrConflict.
func (s *Service) Pay(ctx context.Context, id, userID int64) (Order, error) {
	now := s.now()
	return s.transition(ctx, id, userID, Paid, func(ctx context.Context, tx Tx, _ Order) (bool, error) {
		return tx.Pay(ctx, id, userID, now)
	})
}

// Cancel cancels a pending order of the user and gives its unit back. Cancelling a
// cancelled order gives the same answer; any other state is ErrConflict.
func (s *Service) Cancel(ctx context.Context, id, userID int64) (Order, error) {
	ctx, cancel := s.withWorkDeadline(ctx)
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

// move takes a pending order to another state in a transaction. The state is
// checked and written by one statement, so of payment, cancellation and expiry
// exactly one wins, whoever reads what.
func (s *Service) transition(ctx context.Context, id, userID int64, to Status,
	step func(ctx context.Context, tx Tx, o Order) (bool, error),
) (Order, error) {
	o, err := s.orders.Get(ctx, id, userID)
	if err != nil {
		return Order{}, err
	}
	moved := false
	err = s.tx.InTx(ctx, func(ctx context.Context, tx Tx) (err error) {
		moved, err = step(ctx, tx, o)
		return err
	})
	if errors.Is(err, ErrCommitUnknown) {
		// Asking again is safe, whichever way it went.
		return Order{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if err != nil {
		return Order{}, err
	}
	if o, err = s.orders.Get(ctx, id, userID); err != nil {
		return Order{}, err
	}
	if !moved && o.Status != to {
		return Order{}, fmt.Errorf("%w: it is %s", ErrConflict, o.Status)
	}
	return o, nil
}

// giveBack hands a returned unit to the shards at once. If that fails, the outbox
// row that was committed with the change stays due, and the relay does it.
func (s *Service) restockNow(ctx context.Context, r Restock) {
	ctx, cancel := s.withCleanupDeadline(ctx)
	defer cancel()
	if err := s.restocker.Restock(ctx, r); err != nil {
		s.log.WarnContext(ctx, "return is left to the relay", "order", r.OrderID, "error", err)
	}
}
