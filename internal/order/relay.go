package order

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"seckill/internal/coupon"
)

// Relay hands to the shards every unit that the outbox owes them, and says how
// many it handed over.
func (s *Reconciler) Relay(ctx context.Context) (int, error) {
	done, after := 0, int64(0)
	var failed error
	var met dbFailures
	for ctx.Err() == nil {
		due, err := s.outbox.DueRestocks(ctx, after, batch)
		if err != nil || len(due) == 0 {
			return done, errors.Join(failed, err)
		}
		after = due[len(due)-1].OrderID
		n, err := s.deliver(ctx, due)
		done += n
		if err != nil {
			failed = err
		}
		if met.enough(err) {
			return done, failed
		}
	}
	return done, errors.Join(failed, ctx.Err())
}

// restocking is how many units are handed over at once.
const deliverAtOnce = 32

// restock hands units to the shards, many at once, and forgets all that they have in one
// statement. The units come first: a crash between the two hands them over again, which
// changes nothing.
func (s *Reconciler) deliver(ctx context.Context, due []Restock) (int, error) {
	errs := make([]error, len(due))
	var handing sync.WaitGroup
	turns := make(chan struct{}, deliverAtOnce)
	for i, r := range due {
		turns <- struct{}{}
		handing.Go(func() {
			defer func() { <-turns }()
			errs[i] = s.deliverOne(ctx, r)
		})
	}
	handing.Wait()
	handed := make([]Restock, 0, len(due))
	var failed error
	for i, r := range due {
		if errs[i] != nil {
			failed = fmt.Errorf("return the unit of order %d: %w", r.OrderID, errs[i])
			continue
		}
		handed = append(handed, r)
	}
	if len(handed) == 0 {
		return 0, failed
	}
	if err := s.outbox.Delivered(ctx, handed...); err != nil {
		return 0, ofDatabase(err)
	}
	return len(handed), failed
}

// deliverOne returns one unit. Of an ended sale whose shards are gone it need not be: the
// database alone keeps that account.
func (s *Reconciler) deliverOne(ctx context.Context, r Restock) error {
	err := s.restocker.Restock(ctx, r)
	if errors.Is(err, coupon.ErrNotLoaded) {
		c, cerr := s.sales.Get(ctx, r.CouponID)
		if cerr == nil && c.StateAt(s.now()) == coupon.Ended {
			return nil
		}
	}
	return err
}
