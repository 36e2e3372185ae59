package order

import (
	"context"
	"errors"
	"fmt"
	"time"

	"seckill/internal/coupon"
)

// Queue is where requests wait that were answered before their commit: a stream in
// each shard, which every instance reads. An entry comes with its hold, by
// Stock.Reserve, and goes when it is acknowledged. It may be delivered more than once.
type Queue interface {
	// Next gives up to most entries that nobody was given yet. It does not wait. With an
	// error it gives what could be read.
	Next(ctx context.Context, c coupon.Coupon, most int) ([]Entry, error)
	// ClaimAbandoned gives up to most entries that somebody else was given, and has neither
	// acknowledged nor asked for again for too long.
	ClaimAbandoned(ctx context.Context, c coupon.Coupon, most int) ([]Entry, error)
	// Done acknowledges an entry and takes it out. With a row the order is known to the
	// database under its own id, and its ticket is needed no more.
	Done(ctx context.Context, e Entry, row bool) error
	// DeadLetter acknowledges an entry that nobody could serve, and keeps it with the reason.
	DeadLetter(ctx context.Context, e Entry, why error) error
	// Ahead says about how many entries are before the order's in its queue.
	Ahead(ctx context.Context, o Order) (int64, error)
}

// QueueStats is how full the queues of a coupon are.
type QueueStats struct {
	Entries     int64
	Oldest      time.Duration // of the entries, by the server's clock
	DeadLetters int64         // letters that nobody could serve
}

// Entry is a request in a queue.
type Entry struct {
	ID         string
	Order      Order // as it will be, if it will be
	Hold       Hold  // on the unit; without a RequestID it is not known
	Deliveries int   // how often it was given to somebody, this time included
	Broken     error // why it cannot be read; Order is empty then
}

// enqueue is the order of things up to the answer, when it is given before the commit.
// It takes over where place has let the request in:
//
//	─▶ RESERVE  a hold and an entry in the shard's queue, in one step ─▶ ticket ─▶ answer
//
// The ticket is what any instance can be asked by. Without it nothing is promised: the
// client asks again with its key, and finds its hold and its entry.
func (s *Service) enqueue(ctx context.Context, sale coupon.Coupon, o Order) (Order, error) {
	o.Status = Queued
	c := reserveRequest(o, sale)
	c.Enqueue, c.QueueCapacity, c.QueueMaxAge = &o, s.queueCapacity, s.queueMaxAge
	hold, err := s.stock.Reserve(ctx, c)
	if err != nil {
		return Order{}, err
	}
	if hold.OrderID != o.ID { // it was asked before
		if known, err := s.unresolved.Unresolved(ctx, hold.OrderID); !errors.Is(err, ErrNotFound) {
			return s.alreadyQueued(ctx, known, err)
		}
	}
	o.ID, o.Shard, o.Position = hold.OrderID, hold.Shard, QueuePosition{Epoch: hold.Epoch, Number: hold.Number, Ahead: hold.Ahead}
	if err := s.unresolved.PutUnresolved(ctx, o); err != nil {
		return Order{}, err
	}
	select {
	case s.woken <- struct{}{}:
	default:
	}
	o.Position.RetryAfter = s.rate.retryAfter(s.now(), o)
	return o, nil
}

// alreadyQueued says what became of a request whose ticket there is already. A ticket in
// doubt is left by an entry that was refused, while its hold is not released yet, and by
// a commit that failed: it is no order, and only a row is.
func (s *Service) alreadyQueued(ctx context.Context, known Order, err error) (Order, error) {
	if err != nil || known.Status == Queued {
		return known, err
	}
	found, err := s.resultOf(ctx, known.RequestID, known.CouponID, known.UserID)
	if errors.Is(err, ErrNotFound) {
		return known, ErrCommitUnknown
	}
	return found, err
}

// errTooLate: the request has waited in the queue for longer than it may.
var errTooLate = errors.New("order: it waited for too long")

// serve is the order of things for an entry of the queue:
//
//	entry ─▶ LOCK ─▶ BEGIN … COMMIT ─▶ UNLOCK ─▶ CONFIRM or RELEASE ─▶ ACKNOWLEDGE
//
// An entry may come again, or to two at once, or after its hold was reconciled. So it is
// acknowledged only when a row has ended it for ever: its order, or a void one in its
// place. A refusal is not remembered by anything else, and what was refused now could
// be sold by the next delivery, without its unit.
func (s *Service) serve(ctx context.Context, e Entry, waits time.Duration) error {
	sale, err := s.sales.Get(ctx, e.Order.CouponID)
	if err != nil {
		return err
	}
	sale.Epoch = e.Hold.Epoch // the unit is of this epoch, and is sold in no other
	o, err := e.Order, errTooLate
	if s.now().Sub(o.CreatedAt) < waits {
		o, err = s.sell(ctx, sale, o)
	}
	if err != nil && !isRefusal(err) {
		return err
	}
	return s.closeEntry(ctx, e, o, err, func(ctx context.Context, row bool) error { return s.queue.Done(ctx, e, row) })
}

// refused says whether an entry was served, and is no order. Anything else is either
// not known yet or may be tried again.
func isRefusal(err error) bool {
	for _, no := range []error{errTooLate, ErrLimitReached, ErrVoided, ErrKeyReused, ErrStaleEpoch, coupon.ErrSoldOut} {
		if errors.Is(err, no) {
			return true
		}
	}
	return false
}

// bury gives an entry up that nobody can serve. Its unit goes back as that of any
// refused request: after the database has said that it can never be sold.
func (s *Service) deadLetter(ctx context.Context, e Entry, why error) error {
	gone := func(ctx context.Context, _ bool) error { return s.queue.DeadLetter(ctx, e, why) }
	if e.Hold.RequestID == "" {
		return gone(ctx, false) // whatever it held is the reconciler's
	}
	o := e.Order
	o.ID, o.CouponID, o.UserID, o.RequestID = e.Hold.OrderID, e.Hold.CouponID, e.Hold.UserID, e.Hold.RequestID
	if o.CreatedAt.IsZero() {
		o.CreatedAt, o.ExpiresAt = s.now(), s.now()
	}
	return s.closeEntry(ctx, e, o, why, gone)
}

// end brings an entry with a known outcome to its end. A refused one is settled as a
// doubt is: a void order is written, which also decides it.
func (s *Service) closeEntry(ctx context.Context, e Entry, o Order, err error, gone func(ctx context.Context, row bool) error) error {
	if err != nil {
		if err = s.resolveOutcome(ctx, &o, fmt.Errorf("%w: %w", ErrCommitUnknown, err)); errors.Is(err, ErrCommitUnknown) {
			return err
		}
	}
	row := err == nil && o.ID == e.Hold.OrderID
	if !row {
		// Its answer was a place to ask: from there the outcome must be found.
		t := e.Order
		if t.Status = InDoubt; t.ID != 0 {
			if err := s.unresolved.PutUnresolved(ctx, t); err != nil {
				return err
			}
		}
	}
	// Unlike a request, an entry can come again: it stays until its hold has ended.
	ended := s.stock.Release
	if row {
		ended = s.stock.Confirm
	}
	if err := ended(ctx, e.Hold); err != nil {
		return err
	}
	return gone(ctx, row)
}
