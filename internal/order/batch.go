package order

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/lock"
)

// A batch places many orders with the steps of place.go, in the same order, each step once
// for all of them:
//
//	Place ─▶ queue ─┐ RESERVE many ─▶ LOCK many
//	Place ─▶ queue ─┤   BEGIN  all fences ─▶ all slots ─▶ all orders ─▶ all units  COMMIT
//	Place ─▶ queue ─┘ UNLOCK many ─▶ CONFIRM many ─▶ answers
//
// Each order keeps what it has alone: a lock and a fence of its own, an outcome of its own,
// and a context that takes it out of the batch until the transaction is committed. An order
// for which a step is not plain leaves the batch and goes on alone from there, in the
// goroutine of its request: only a sibling of its shard has units, another holder has its
// lock, its request has an order already. A reply that was lost is lost for each order that
// it was for. None of them asks again alone, because what was asked for may have been done.
// A panic, too, is no answer for those that have a hold.
//
// A batch is not waited for until it is full (batchqueue.go).

// placeBatch does for many orders what placeAlone does for one.
func (s *Service) placeBatch(b batch) {
	defer s.leaveAfterPanic(b)
	ctx, cancel := b.context()
	defer cancel()
	if b = s.reserveBatch(ctx, b); len(b) > 0 {
		b = s.sellBatch(ctx, b)
	}
	if len(b) > 0 {
		s.confirmBatch(ctx, b)
	}
}

// reserveBatch takes a unit for each order, and returns those that have one.
func (s *Service) reserveBatch(ctx context.Context, b batch) (held batch) {
	for i, r := range s.stock.ReserveMany(ctx, b.requests(reserveRequest)) {
		m := b[i]
		switch {
		case errors.Is(r.Err, ErrAlone):
			m.leave(toReserve, nil)
		case r.Err != nil:
			m.leave(toAnswer, r.Err)
		default:
			m.hold, m.order.ID, m.order.Shard = r.Hold, r.Hold.OrderID, r.Hold.Shard
			held = append(held, m)
		}
	}
	return held
}

// sellBatch commits the orders of holds, each inside its user's lock, and returns those
// that were committed. Of the others, those whose outcome is known close their hold
// themselves, and those of which nothing was written are sold alone.
//
// An order that resolveBatch found committed may be one that the request had before this epoch, under
// another id: its unit is not that of the hold, which closeHold gives back.
func (s *Service) sellBatch(ctx context.Context, held batch) (sold batch) {
	keys := make([]string, len(held))
	for i, m := range held {
		keys[i] = lock.UserKey(m.order.UserID)
	}
	errs := s.locker.DoMany(ctx, keys, func(ctx context.Context, leases []*lock.Lease) []error {
		return s.commitBatch(ctx, held, leases)
	})
	for i, m := range held {
		err := errs[i]
		switch {
		case err == nil && m.order.ID == m.hold.OrderID:
			sold = append(sold, m)
		case errors.Is(err, lock.ErrNotAcquired), errors.Is(err, ErrAlone):
			m.leave(toSell, nil)
		default:
			m.leave(toClose, lockError(err))
		}
	}
	return sold
}

// commitBatch commits the orders whose lock is held, in one transaction. It returns an error
// for each order, of those without a lease nil.
//
// As in sell, the locks are not released before all outcomes are known, or are to remain
// unknown.
func (s *Service) commitBatch(ctx context.Context, held batch, leases []*lock.Lease) []error {
	errs := make([]error, len(held))
	var placements []Placement
	var at []int // their indexes in held
	for i, lease := range leases {
		if lease == nil {
			continue
		}
		m := held[i]
		m.order.Fence = lease.Fence()
		p := placementOf(m.order, m.sale)
		p.Context = leased{m.ctx, lease.Context()}
		placements, at = append(placements, p), append(at, i)
	}
	for n, p := range s.batches.committer.PlaceMany(ctx, placements) {
		i := at[n]
		held[i].order.Slot, errs[i] = p.Slot, withCause(p.Err, ctx, leases[i].Context(), held[i].ctx)
	}
	s.resolveBatch(held, errs)
	return errs
}

// leased is the context of a request that must not go on without its lease.
type leased struct {
	context.Context //nolint:containedctx // both are asked as one

	lease context.Context //nolint:containedctx // as above
}

// Err implements context.Context, which is asked for nothing else.
func (l leased) Err() error {
	if err := l.lease.Err(); err != nil {
		return err
	}
	return l.Context.Err()
}

// resolveBatch finds out what an ambiguous error of a transaction means for its orders, for
// all at once: each has the time of its own request for that.
func (s *Service) resolveBatch(held batch, errs []error) {
	var all sync.WaitGroup
	for i, m := range held {
		if errors.Is(errs[i], ErrCommitUnknown) {
			all.Go(func() { errs[i] = s.resolveOutcome(m.ctx, &m.order, errs[i]) })
		}
	}
	all.Wait()
}

// confirmBatch confirms the holds of committed orders, which are answered then. A
// confirmation that fails is left to the reconciler.
func (s *Service) confirmBatch(ctx context.Context, sold batch) {
	ctx, cancel := s.withCleanupDeadline(ctx)
	defer cancel()
	holds := make([]Hold, len(sold))
	for i, m := range sold {
		holds[i] = m.hold
	}
	for i, err := range s.stock.ConfirmMany(ctx, holds) {
		if err != nil {
			s.leftOpen(ctx, holds[i], err)
		}
		sold[i].leave(toAnswer, nil)
	}
}

// leaveAfterPanic is deferred by what a batch does: a panic must not end the instance, and then every other one
// that its client asks. Whose it is, is not known. Orders without a hold go on alone, where a request that made its
// batch panic panics itself. Those with one are in doubt. They may be committed: sold again, they would be refused as
// above the limit, and their unit given back.
func (s *Service) leaveAfterPanic(b batch) {
	p := recover()
	if p == nil {
		return
	}
	s.log.Error("batch panicked", "orders", len(b), "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	for _, m := range b {
		select {
		case <-m.left:
		default:
			if m.hold.OrderID == 0 {
				m.leave(toReserve, nil)
			} else {
				m.leave(toClose, fmt.Errorf("%w: the batch panicked", ErrCommitUnknown))
			}
		}
	}
}

// placeInBatch places the order of a request with others.
func (s *Service) placeInBatch(ctx context.Context, sale coupon.Coupon, o Order) (Order, error) {
	m := &member{ctx: ctx, sale: sale, order: o, left: make(chan struct{})}
	s.batches.join(m)
	switch {
	case m.next == toAnswer && m.err != nil:
		return Order{}, m.err
	case m.next == toAnswer:
		return m.order, nil
	case m.next == toReserve:
		return s.placeAlone(ctx, sale, o)
	}
	ctx, cancel := withTimer(ctx)
	defer cancel()
	if m.next == toSell {
		return s.sellHold(ctx, sale, m.hold, m.order)
	}
	return s.closeHold(ctx, m.hold, m.order, m.err)
}
