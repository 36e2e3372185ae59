package order

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"example.com/seckill/internal/coupon"
)

// Relay delivers every unit in the outbox to its shard. It returns the number of delivered units.
func (s *Reconciler) Relay(ctx context.Context) (int, error) {
	done, after := 0, int64(0)
	var failed error
	var failures dbFailures
	for ctx.Err() == nil {
		due, err := s.db.DueRestocks(ctx, after, passSize)
		if err != nil || len(due) == 0 {
			return done, errors.Join(failed, err)
		}
		after = due[len(due)-1].OrderID
		n, err := s.deliver(ctx, due)
		done += n
		if err != nil {
			failed = err
		}
		if failures.tooMany(err) {
			return done, failed
		}
	}
	return done, errors.Join(failed, ctx.Err())
}

// deliverAtOnce is how many units are delivered concurrently.
const deliverAtOnce = 32

// deliver restocks the shards, many units concurrently, and removes those that they have from
// the outbox in one statement. The shards come first: after a crash between the two the
// units are delivered again, which changes nothing.
func (s *Reconciler) deliver(ctx context.Context, due []Restock) (int, error) {
	errs := make([]error, len(due))
	var delivering sync.WaitGroup
	slots := make(chan struct{}, deliverAtOnce)
	for i, r := range due {
		slots <- struct{}{}
		delivering.Go(func() {
			defer func() { <-slots }()
			errs[i] = s.deliverOne(ctx, r)
		})
	}
	delivering.Wait()
	delivered := make([]Restock, 0, len(due))
	var failed error
	for i, r := range due {
		if errs[i] != nil {
			failed = fmt.Errorf("restock the unit of order %d: %w", r.OrderID, errs[i])
			continue
		}
		delivered = append(delivered, r)
	}
	if len(delivered) == 0 {
		return 0, failed
	}
	if err := s.db.Delivered(ctx, delivered...); err != nil {
		return 0, ofDatabase(err)
	}
	return len(delivered), failed
}

// deliverOne restocks one unit. If the sale has ended and its shards are gone, it does nothing: only the database
// counts the units of that sale.
func (s *Reconciler) deliverOne(ctx context.Context, r Restock) error {
	err := s.shards.Restock(ctx, r)
	if errors.Is(err, coupon.ErrNotLoaded) && s.hasEnded(ctx, r.CouponID) {
		// This instance may not know that the end was moved. Then another one loads the shards, and has read the units
		// before this one went back.
		s.sales.Invalidate(r.CouponID)
		if s.hasEnded(ctx, r.CouponID) {
			return nil
		}
	}
	return err
}

// hasEnded reports whether the sale has ended, as far as this instance knows.
func (s *Reconciler) hasEnded(ctx context.Context, couponID int64) bool {
	c, err := s.sales.Get(ctx, couponID)
	return err == nil && c.StateAt(s.now()) == coupon.Ended
}
