package order

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// expiryGroup bounds the orders that expire in one transaction, and expiryMost those of a
	// pass.
	expiryGroup = 256
	expiryMost  = 40 * expiryGroup
)

// Expire ends the pending orders whose time to pay has run out, and returns how many:
//
//	BEGIN  lock overdue orders ─▶ expired ─▶ stock + n ─▶ n rows of the outbox  COMMIT ─▶ restock
//
// It may run on several instances at once: each takes orders that no other has locked. A
// group that the database refuses is halved until the order at fault is alone, and that one
// is passed over.
func (s *Reconciler) Expire(ctx context.Context) (int, error) {
	now := s.now()
	if due, err := s.db.Overdue(ctx, now); err != nil || !due {
		return 0, err
	}
	done, skip, most := 0, 0, expiryGroup
	var failed, left error
	var failures dbFailures
	for more := true; more && done < expiryMost && ctx.Err() == nil; {
		back, err := s.expire(ctx, now, skip, most)
		switch {
		case errors.Is(err, errDatabase):
			failed, more = err, !failures.tooMany(err)
		case err != nil && most > 1:
			most /= 2
		case err != nil:
			failed = err
			skip++
		default:
			done += len(back)
			if _, err := s.deliver(ctx, back); err != nil {
				left = err
			}
			more, most = len(back) == most, min(2*most, expiryGroup)
		}
	}
	if left != nil {
		s.log.WarnContext(ctx, "restocks left to the relay", "error", left)
	}
	return done, errors.Join(failed, ctx.Err())
}

// expire ends up to most overdue orders in one transaction.
func (s *Reconciler) expire(ctx context.Context, now time.Time, skip, most int) ([]Restock, error) {
	var back []Restock
	err := s.db.InTx(ctx, func(ctx context.Context, tx Tx) error {
		back = nil
		expired, err := tx.Expire(ctx, now, skip, most)
		if err != nil || len(expired) == 0 {
			return err
		}
		back, err = tx.Restock(ctx, expired...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("expire up to %d orders: %w", most, ofDatabase(err))
	}
	return back, nil
}
