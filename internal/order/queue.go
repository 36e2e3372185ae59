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
	// Waiting returns those of the coupons whose queues have entries that are not acknowledged, in few round trips.
	// With an error it returns those that it knows of.
	Waiting(ctx context.Context, all []coupon.Coupon) ([]coupon.Coupon, error)
	// Next returns up to most entries that were never delivered. It does not wait. With an
	// error it returns what could be read.
	Next(ctx context.Context, c coupon.Coupon, most int) ([]Entry, error)
	// ClaimAbandoned takes over up to most entries that were delivered to another consumer
	// and not acknowledged for too long.
	ClaimAbandoned(ctx context.Context, c coupon.Coupon, most int) ([]Entry, error)
	// Ack acknowledges an entry and removes it.
	Ack(ctx context.Context, e Entry) error
	// AckCommitted is Ack for entries whose orders are in the database under their own ids. These orders need not be
	// kept as unresolved ones any longer. It returns one error per entry.
	AckCommitted(ctx context.Context, entries []Entry) []error
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
	UntilEnd   bool   // it may wait until its sale ends
}

// enqueue does the steps up to an answer that comes before the commit. It goes on where placeOnce
// has admitted the request.
func (s *Service) enqueue(ctx context.Context, sale coupon.Coupon, o Order) (Order, error) {
	o.Status = Queued
	a := newAttempt(ctx, sale, o)
	s.together(a, s.queueUp)
	if a.Err != nil && !errors.Is(a.Err, ErrCommitUnknown) {
		return Order{}, a.Err
	}
	return a.Order, a.Err
}

// queueUp is the order path of mode queue up to the answer, for one attempt or many:
//
//	RESERVE  a hold and an entry in the shard's queue, in one step ─▶ put unresolved ─▶ answer
//
// Any instance can answer for the order once it is put among the unresolved ones. If that
// fails nothing is promised: the client repeats the request with its key, and finds its
// hold and its entry.
func (s *Service) queueUp(ctx context.Context, all attempts) {
	var queued attempts
	single := all.single()
	for _, a := range s.reserve(ctx, all) {
		a.closed = true // its entry ends the hold
		switch {
		case !a.repeated():
			queued = append(queued, a)
		case !single:
			a.closed = false
			a.leaveOthers(nil) // its order may be among the unresolved ones already
			a.leave()
		default:
			known, err := s.shards.Unresolved(ctx, a.Hold.OrderID)
			if errors.Is(err, ErrNotFound) {
				queued = append(queued, a)
			} else {
				a.Order, a.Err = s.alreadyQueued(ctx, known, err)
			}
		}
	}
	for _, a := range queued {
		a.Order.Position = QueuePosition{Epoch: a.Hold.Epoch, Number: a.Hold.Number, Ahead: a.Hold.Ahead}
	}
	for i, err := range s.putUnresolved(ctx, queued) {
		if a := queued[i]; err != nil {
			a.Err = err
		} else {
			a.Order = s.nowQueued(a.Order)
		}
		queued[i].leave()
	}
}

// repeated reports whether the hold of the attempt is of an earlier attempt at the same request.
func (a *Attempt) repeated() bool { return a.Hold.OrderID != a.Hold.Attempt }

// nowQueued wakes the workers of this instance, lets polls wait for o, and returns it with the time
// after which it is expected to be processed.
func (s *Service) nowQueued(o Order) Order {
	s.polls.expect(o, s.now())
	s.queued.add(o.CouponID)
	o.Position = s.rate.estimate(s.now(), o)
	return o
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

// serve brings queue entries through the order path, each with the hold that it has:
//
//	entry ─▶ LOCK ─▶ BEGIN … COMMIT ─▶ UNLOCK ─▶ CONFIRM or RELEASE ─▶ ACKNOWLEDGE
//
// An entry may be delivered again, to two workers at once, or after its hold was reconciled.
// So it is acknowledged only when a row in the database has decided it: its order, or a void
// row instead. Only that row remembers a rejection: without it the next delivery could make an
// order that has no unit.
//
// Among several, an entry that is no order under its own id is left with an error, to a call of its own.
func (s *Service) serve(ctx context.Context, all attempts, maxAge time.Duration) {
	var fresh attempts
	for _, a := range all {
		sale, err := s.sales.Get(ctx, a.Order.CouponID)
		if a.Sale, a.Err = sale, err; err != nil {
			continue
		}
		a.Sale.Epoch = a.Hold.Epoch // the unit is of this epoch, and is sold in no other
		now := s.now()
		switch waited := now.Sub(a.Order.CreatedAt) >= maxAge; {
		case waited && (!a.entry.UntilEnd || a.Sale.StateAt(now) == coupon.Ended):
			a.Err = errTooLate
			s.closeEntries(ctx, attempts{a}, all.single())
			continue
		case waited: // the buyer has the whole time to pay
			a.Order.ExpiresAt = now.UTC().Truncate(time.Millisecond).Add(s.paymentTimeout)
		}
		fresh = append(fresh, a)
	}
	s.place(ctx, fresh)
}

// attemptsOf returns the attempts of entries, each in its context.
func attemptsOf(entries []Entry, contexts []context.Context) attempts {
	all := make(attempts, len(entries))
	for i := range entries {
		e := &entries[i]
		all[i] = &Attempt{Context: contexts[i], Order: e.Order, Hold: e.Hold, entry: e, since: time.Now()}
	}
	return all
}

// closeEntries ends the holds of entries, and acknowledges the entries. Of several it does so for those that are
// committed.
func (s *Service) closeEntries(ctx context.Context, decided attempts, alone bool) {
	committed := decided.only((*Attempt).committed)
	others := decided.only(func(a *Attempt) bool { return !a.committed() })
	for _, a := range committed {
		s.polls.end(a.Order, a.since)
	}
	for i, err := range s.confirm(ctx, committed) {
		committed[i].Err = err
	}
	confirmed := committed.only(func(a *Attempt) bool { return a.Err == nil })
	for i, err := range s.acknowledge(ctx, confirmed) {
		confirmed[i].Err, confirmed[i].closed = err, true
	}
	for _, a := range others {
		switch {
		case !alone:
			a.leaveOthers(a.Err)
		case s.saleChanged(ctx, a):
			s.place(ctx, attempts{a}) // its hold is open
		case a.Err == nil || isRefusal(a.Err):
			a.Err = s.refuseEntry(ctx, a)
		}
	}
}

// saleChanged reports whether an entry is worth another attempt, after a refusal that may come from an old coupon. It
// reads the coupon again, once per attempt. The instance that queued the entry may have known a newer coupon than this
// instance, and the buyer was answered 202.
func (s *Service) saleChanged(ctx context.Context, a *Attempt) bool {
	if a.reread || !isOneOf(a.Err, ErrLimitReached, coupon.ErrSoldOut) {
		return false
	}
	a.reread = true
	s.sales.Invalidate(a.Order.CouponID)
	fresh, err := s.sales.Get(ctx, a.Order.CouponID)
	if err != nil {
		a.Err = fmt.Errorf("%w: read the coupon again: %w", ErrUnavailable, err)
		return false
	}
	old := a.Sale
	if fresh.LimitPerUser == old.LimitPerUser && fresh.Total == old.Total {
		return false
	}
	fresh.Epoch = a.Hold.Epoch
	a.Sale, a.Err = fresh, nil
	return true
}

// acknowledge acknowledges the entries of committed orders.
func (s *Service) acknowledge(ctx context.Context, all attempts) []error {
	if len(all) == 0 {
		return nil
	}
	return s.queue.AckCommitted(ctx, each(all, func(a *Attempt) Entry { return *a.entry }))
}

// refuseEntry ends an entry that is no order, unless an earlier delivery has committed it.
func (s *Service) refuseEntry(ctx context.Context, a *Attempt) error {
	committed, err := s.closeEntry(ctx, a, a.Err)
	switch {
	case err != nil:
		return err
	case committed:
		s.polls.end(a.Order, a.since)
		return s.acknowledge(ctx, attempts{a})[0]
	}
	return s.queue.Ack(ctx, *a.entry)
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
	a := attemptsOf([]Entry{e}, []context.Context{ctx})[0]
	a.Order = o
	if _, err := s.closeEntry(ctx, a, reason); err != nil {
		return err
	}
	return s.queue.DeadLetter(ctx, e, reason)
}

// closeEntry ends the hold of an entry with the given outcome, and reports whether the order
// of that hold is committed. A refusal is resolved like an unknown outcome: by a void order,
// which also decides it, or by the order that an earlier delivery has committed. The attempt then has this order
// as it is by now: it may be paid.
func (s *Service) closeEntry(ctx context.Context, a *Attempt, err error) (committed bool, _ error) {
	if err != nil {
		if err = s.resolveOutcome(ctx, &a.Order, fmt.Errorf("%w: %w", ErrCommitUnknown, err)); errors.Is(err, ErrCommitUnknown) {
			return false, err
		}
	}
	committed = err == nil && a.Order.ID == a.Hold.OrderID
	if committed {
		return true, s.confirm(ctx, attempts{a})[0]
	}
	// The client polls the id of the entry's order: its outcome must be found there.
	polled := a.entry.Order
	if polled.Status = InDoubt; polled.ID != 0 {
		if err := s.shards.PutUnresolved(ctx, []Order{polled})[0]; err != nil {
			return false, err
		}
	}
	// Unlike a request, an entry is delivered again: it stays until its hold has ended.
	return false, s.release(ctx, attempts{a})[0]
}
