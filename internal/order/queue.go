package order

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"example.com/seckill/internal/coupon"
)

// Queue has the requests that are answered before their commit: a stream in each shard,
// which every instance reads. Stock.Reserve writes an entry together with its hold, and an
// acknowledgement removes it. An entry may be delivered more than once.
type Queue interface {
	// Next returns up to most entries that were never delivered. It does not wait. With an
	// error it returns what could be read.
	Next(ctx context.Context, c coupon.Coupon, most int) ([]Entry, error)
	// ClaimAbandoned takes over up to most entries that were delivered to another consumer
	// and not acknowledged for too long.
	ClaimAbandoned(ctx context.Context, c coupon.Coupon, most int) ([]Entry, error)
	// Ack acknowledges an entry and removes it.
	Ack(ctx context.Context, e Entry) error
	// AckCommitted is Ack for an entry whose order is in the database under its own id, so
	// that it need not be kept as an unresolved one any longer.
	AckCommitted(ctx context.Context, e Entry) error
	// AckCommittedMany is AckCommitted for each of many entries; it returns as many errors.
	AckCommittedMany(ctx context.Context, entries []Entry) []error
	// DeadLetter acknowledges an entry that cannot be processed, and keeps it with the
	// reason.
	DeadLetter(ctx context.Context, e Entry, reason error) error
	// Ahead returns about how many entries are before the order's in its queue.
	Ahead(ctx context.Context, o Order) (int64, error)
}

// QueueStats is how full the queues of a coupon are.
type QueueStats struct {
	Entries     int64
	Oldest      time.Duration // age of the oldest entry, by the server's clock
	DeadLetters int64         // entries that could not be processed
}

// Entry is a request in a queue.
type Entry struct {
	ID         string
	Order      Order  // as it will be, if it will be
	Hold       Hold   // on the unit; unknown if it has no RequestID
	Trace      string // the traceparent of the request; "" is none
	Deliveries int    // how often it was delivered, this time included
	Broken     error  // why it cannot be read; Order is empty then
}

// enqueue does the steps up to an answer that comes before the commit. It goes on where place
// has admitted the request:
//
//	─▶ RESERVE  a hold and an entry in the shard's queue, in one step ─▶ put unresolved ─▶ answer
//
// Any instance can answer for the order once it is put among the unresolved ones. If that
// fails nothing is promised: the client repeats the request with its key, and finds its
// hold and its entry.
func (s *Service) enqueue(ctx context.Context, sale coupon.Coupon, o Order) (Order, error) {
	o.Status = Queued
	if s.batches.takes(ctx) {
		return s.enqueueInBatch(ctx, sale, o) // queuebatch.go does, for many at once, what follows
	}
	return s.enqueueAlone(ctx, sale, o)
}

// enqueueAlone does what costs something, for one request.
func (s *Service) enqueueAlone(ctx context.Context, sale coupon.Coupon, o Order) (Order, error) {
	ctx, cancel := withTimer(ctx)
	defer cancel()
	hold, err := s.stock.Reserve(ctx, s.enqueueRequest(o, sale))
	if err != nil {
		return Order{}, err
	}
	if hold.OrderID != o.ID { // the request is repeated
		if known, err := s.unresolved.Unresolved(ctx, hold.OrderID); !errors.Is(err, ErrNotFound) {
			return s.alreadyQueued(ctx, known, err)
		}
	}
	o = queuedOrder(o, hold)
	if err := s.unresolved.PutUnresolved(ctx, o); err != nil {
		return Order{}, err
	}
	return s.nowQueued(o), nil
}

// enqueueRequest returns the request for the unit and the entry that o is to be made of.
func (s *Service) enqueueRequest(o Order, sale coupon.Coupon) ReserveRequest {
	r := reserveRequest(o, sale)
	r.Enqueue, r.QueueCapacity, r.QueueMaxAge = &o, s.queueCapacity, s.queueMaxAge
	return r
}

// queuedOrder returns o as the order of a hold that has an entry.
func queuedOrder(o Order, h Hold) Order {
	o.ID, o.Shard = h.OrderID, h.Shard
	o.Position = QueuePosition{Epoch: h.Epoch, Number: h.Number, Ahead: h.Ahead}
	return o
}

// nowQueued wakes the workers of this instance, lets polls wait for o, and returns it with the time
// after which it is expected to be processed.
func (s *Service) nowQueued(o Order) Order {
	s.polls.expect(o, s.now())
	s.wakeWorkers()
	o.Position = s.rate.estimate(s.now(), o)
	return o
}

// wakeWorkers has the workers of this instance look for entries.
func (s *Service) wakeWorkers() {
	select {
	case s.woken <- struct{}{}:
	default:
	}
}

// alreadyQueued returns what became of a repeated request whose order is still among the
// unresolved ones. InDoubt is left by an entry that was refused, until its hold is
// released, and by a commit that failed: only a row in the database is an order.
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
var errTooLate = errors.New("order: waited in the queue for too long")

// serve does the steps of a queue entry:
//
//	entry ─▶ LOCK ─▶ BEGIN … COMMIT ─▶ UNLOCK ─▶ CONFIRM or RELEASE ─▶ ACKNOWLEDGE
//
// An entry may be delivered again, to two workers at once, or after its hold was reconciled.
// So it is acknowledged only when a row in the database has decided it: its order, or a void
// one in its place. Nothing else remembers a refusal, and without that row the next delivery
// could sell what was refused now, without a unit.
func (s *Service) serve(ctx context.Context, e Entry, maxAge time.Duration) error {
	sale, err := s.sales.Get(ctx, e.Order.CouponID)
	if err != nil {
		return err
	}
	sale.Epoch = e.Hold.Epoch // the unit is of this epoch, and is sold in no other
	began := time.Now()
	o, err := e.Order, errTooLate
	if s.now().Sub(o.CreatedAt) < maxAge {
		o, err = s.sell(ctx, sale, o)
	}
	if err != nil && !isRefusal(err) {
		return err
	}
	committed, err := s.closeEntry(ctx, e, &o, err)
	switch {
	case err != nil:
		return err
	case committed:
		s.polls.end(o, began)
		return s.queue.AckCommitted(ctx, e)
	}
	return s.queue.Ack(ctx, e)
}

// isRefusal reports whether err means that an entry was processed and is no order. Any other
// error is either an unknown outcome or worth another attempt.
func isRefusal(err error) bool {
	return isOneOf(err, errTooLate, ErrLimitReached, ErrVoided, ErrKeyReused, ErrStaleEpoch, coupon.ErrSoldOut)
}

func isOneOf(err error, all ...error) bool {
	return slices.ContainsFunc(all, func(one error) bool { return errors.Is(err, one) })
}

// deadLetter gives up an entry that cannot be processed. Its unit goes back like that of any
// refused request: after a void order has made sure that it can never be sold.
func (s *Service) deadLetter(ctx context.Context, e Entry, reason error) error {
	if e.Hold.RequestID == "" {
		return s.queue.DeadLetter(ctx, e, reason) // its hold is left to the reconciler
	}
	o := e.Order
	o.ID, o.CouponID, o.UserID, o.RequestID = e.Hold.OrderID, e.Hold.CouponID, e.Hold.UserID, e.Hold.RequestID
	if o.CreatedAt.IsZero() {
		o.CreatedAt, o.ExpiresAt = s.now(), s.now()
	}
	if _, err := s.closeEntry(ctx, e, &o, reason); err != nil {
		return err
	}
	return s.queue.DeadLetter(ctx, e, reason)
}

// closeEntry ends the hold of an entry with the given outcome, and reports whether the order
// of that hold is committed. A refusal is resolved like an unknown outcome: by a void order,
// which also decides it, or by the order that an earlier delivery has committed, which o becomes as
// it is by now: it may be paid.
func (s *Service) closeEntry(ctx context.Context, e Entry, o *Order, err error) (committed bool, _ error) {
	if err != nil {
		if err = s.resolveOutcome(ctx, o, fmt.Errorf("%w: %w", ErrCommitUnknown, err)); errors.Is(err, ErrCommitUnknown) {
			return false, err
		}
	}
	committed = err == nil && o.ID == e.Hold.OrderID
	if !committed {
		// The client polls the id of the entry's order: its outcome must be found there.
		polled := e.Order
		if polled.Status = InDoubt; polled.ID != 0 {
			if err := s.unresolved.PutUnresolved(ctx, polled); err != nil {
				return false, err
			}
		}
	}
	// Unlike a request, an entry is delivered again: it stays until its hold has ended.
	closeHold := s.stock.Release
	if committed {
		closeHold = s.stock.Confirm
	}
	return committed, closeHold(ctx, e.Hold)
}
