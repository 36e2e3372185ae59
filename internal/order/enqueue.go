package order

import (
	"context"
	"time"

	"example.com/seckill/internal/coupon"
)

// This file is for packages that put a step of their own in front of the queue.

// Answerer answers a request that was admitted: with the order that it makes of o, or with another result.
type Answerer func(ctx context.Context, sale coupon.Coupon, o Order) (Order, error)

// PlaceWith is Place with an Answerer of the caller instead of Take. Its context ends early enough to leave time for
// the cleanups.
func (s *Service) PlaceWith(ctx context.Context, r Request, answer Answerer) (Order, error) {
	return s.placeWith(ctx, r, func(ctx context.Context, sale coupon.Coupon, o Order) (Order, error) {
		ctx, cancel := withTimer(ctx)
		defer cancel()
		return answer(ctx, sale, o)
	})
}

// NewOrder returns a new order, with an id of its own, for a request that the caller has kept. Each attempt to
// Enqueue needs a new order.
func (s *Service) NewOrder(ctx context.Context, sale coupon.Coupon, userID int64, requestID string) (Order, error) {
	o, err := s.newOrder(ctx, sale, Request{UserID: userID})
	if err != nil {
		return Order{}, err
	}
	o.RequestID = requestID
	return o, nil
}

// Enqueue queues orders of one sale, as Take does with a Queue. It returns one error per order. The error is nil also
// if an earlier attempt queued the order's request.
//
// Of several orders each gets a unit of its home shard or an error, in one step for all of them. An order with an
// error may be queued by another attempt. An order that is enqueued by itself may also borrow a unit.
//
// The orders may wait in the queue until the sale ends: order.queue_max_age does not end them.
func (s *Service) Enqueue(ctx context.Context, sale coupon.Coupon, orders []Order) []error {
	return s.enqueueAll(ctx, sale, orders, false)
}

// CheckQueued reports which orders' requests an earlier attempt has queued. It takes no unit. The error is nil for a
// request that is queued, coupon.ErrSoldOut if no unit is left for another one, and ErrOverloaded if a unit is left.
// The other errors are those of Enqueue.
func (s *Service) CheckQueued(ctx context.Context, sale coupon.Coupon, orders []Order) []error {
	return s.enqueueAll(ctx, sale, orders, true)
}

func (s *Service) enqueueAll(ctx context.Context, sale coupon.Coupon, orders []Order, onlyHeld bool) []error {
	all := make(attempts, len(orders))
	// One time for all orders: a run of a script has one.
	untilEnd := max(time.Second, sale.EndsAt.Sub(s.now()).Round(time.Second))
	for i, o := range orders {
		o.Status = Queued
		all[i] = newAttempt(ctx, sale, o)
		all[i].UntilEnd, all[i].onlyHeld = untilEnd, onlyHeld
	}
	ctx, cancel := withTimer(ctx)
	defer cancel()
	s.queueUp(ctx, all)
	return each(all, func(a *Attempt) error {
		if len(all) > 1 && a.repeated() {
			return nil
		}
		return a.Err
	})
}
