package order

import (
	"context"
	"errors"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/lock"
)

// Place sells the user one unit and returns the order after its commit, or, if the
// Service has a Queue, the Queued order after its reservation.
//
// A repeated Request with the same Key returns the same order, however often it is
// repeated, even if the sale has ended since. With ErrCommitUnknown it returns the
// order as it is if it was committed.
func (s *Service) Place(ctx context.Context, r Request) (Order, error) {
	return s.placeWith(ctx, r, s.Take)
}

// placeWith is Place with the given Answerer.
func (s *Service) placeWith(ctx context.Context, r Request, answer Answerer) (Order, error) {
	o, err := s.placeOnce(ctx, r, answer)
	if errors.Is(err, ErrStaleEpoch) {
		// The stock was loaded again under this request: its hold is gone with the
		// old epoch, its transaction was refused, and it may ask once more.
		s.sales.Invalidate(r.CouponID)
		o, err = s.placeOnce(ctx, r, answer)
	}
	if err == nil || errors.Is(err, ErrCommitUnknown) || r.Key == "" {
		return o, err
	}
	return s.replay(ctx, r, err)
}

// placeOnce makes one attempt at a request. The cheap refusals come before every step that
// costs.
func (s *Service) placeOnce(ctx context.Context, r Request, answer Answerer) (o Order, err error) {
	sale, err := s.open(ctx, r)
	if err != nil {
		return Order{}, err
	}
	ctx = s.workContext(ctx)
	release, err := s.admission.Admit(ctx)
	if err != nil {
		return Order{}, err
	}
	defer func() { release(err == nil) }()

	if o, err = s.newOrder(ctx, sale, r); err != nil {
		return Order{}, err
	}
	return answer(ctx, sale, o)
}

// Take implements Answerer: it takes a unit for the order. It returns the order after its commit, or, if the
// Service has a Queue, the Queued order.
func (s *Service) Take(ctx context.Context, sale coupon.Coupon, o Order) (Order, error) {
	if s.queue != nil {
		return s.enqueue(ctx, sale, o) // queue.go goes on from here
	}
	a := newAttempt(ctx, sale, o)
	s.together(a, s.place)
	if a.held() { // the steps of the others ended in a panic
		s.close(ctx, attempts{a})
	}
	if a.Err != nil && !errors.Is(a.Err, ErrCommitUnknown) {
		return Order{}, a.Err
	}
	return a.Order, a.Err
}

// place is the order path, for one attempt or many:
//
//	RESERVE ─▶ LOCK ─▶ BEGIN ─▶ fences ─▶ slots ─▶ orders ─▶ units ─▶ COMMIT ─▶ UNLOCK ─▶ CONFIRM or RELEASE
//
// A step is one call for all attempts. An attempt that cannot go with the others leaves with ErrFallback, and its
// request brings it here again by itself. It keeps its hold. A reply that is lost is lost for each attempt of its call.
// None of them repeats the call, because the server may have done it. An entry of the queue comes with its hold.
//
// The lock is released after the commit, and only when the outcome of the commit is known. Otherwise the
// next request of the user could begin although this one may yet be committed.
func (s *Service) place(ctx context.Context, all attempts) {
	held := s.reserve(ctx, all)                                      // RESERVE
	s.locked(ctx, held, func(ctx context.Context, locked attempts) { // LOCK
		s.commit(ctx, locked) // BEGIN fences, slots, orders, units COMMIT
		s.resolve(locked)     // inside the lock until every outcome is known
	}) // UNLOCK
	s.close(ctx, held) // CONFIRM, or RELEASE, or leave in doubt
}

// reserve takes a unit for each attempt that has none, and returns those that have one. The others leave. No unit
// is released before it is certain that it was not sold.
func (s *Service) reserve(ctx context.Context, all attempts) (held attempts) {
	held = all.only((*Attempt).held)
	without := all.only(func(a *Attempt) bool { return !a.held() })
	s.step(ctx, StepReserve, without, func(ctx context.Context) {
		for i, r := range s.reserveUnits(ctx, without) {
			without[i].Hold, without[i].Err = r.Hold, r.Err
		}
	})
	for _, a := range without {
		if a.Err != nil {
			a.Hold = Hold{}
			a.leave()
			continue
		}
		a.Order.ID, a.Order.Shard = a.Hold.OrderID, a.Hold.Shard
		held = append(held, a)
	}
	return held
}

// reserveUnits asks the shards. By itself an attempt may be given a unit of a sibling shard.
func (s *Service) reserveUnits(ctx context.Context, all attempts) []Reservation {
	requests := each(all, s.reserveRequest)
	requests[0].Alone = all.single()
	return s.shards.Reserve(ctx, requests)
}

// locked does work once, inside the locks of those users whose lock is free. By itself an attempt waits for its
// lock.
//
// If the database has seen a larger fence than that of a fresh lease, the lock's counter has fallen behind, as after a
// failover to a slower clock. By itself an attempt raises the counter above that fence, and work is done once more.
func (s *Service) locked(ctx context.Context, held attempts, work func(ctx context.Context, locked attempts)) {
	if len(held) == 0 {
		return
	}
	s.lockOnce(ctx, held, work)
	if !held.single() {
		for _, a := range held {
			if errors.Is(a.Err, lock.ErrNotAcquired) || errors.Is(a.Err, ErrStaleFence) {
				a.leaveOthers(a.Err)
			}
		}
	} else if stale, ok := errors.AsType[*StaleFenceError](held[0].Err); ok {
		a := held[0]
		if raised := s.locker.AdvanceFence(ctx, lock.UserKey(a.Order.UserID), stale.Seen); raised != nil {
			a.Err = errors.Join(a.Err, raised)
		} else {
			a.Err = nil
			s.lockOnce(ctx, held, work)
		}
	}
	for _, a := range held {
		a.Err = lockError(a.Err)
	}
}

// commit commits the orders of attempts whose locks are held.
func (s *Service) commit(ctx context.Context, locked attempts) {
	s.step(ctx, StepCommit, locked, func(ctx context.Context) { s.committer.Place(ctx, locked) })
}

// lockOnce does work inside the locks, and sets the error of each attempt.
func (s *Service) lockOnce(ctx context.Context, held attempts, work func(ctx context.Context, locked attempts)) {
	s.step(ctx, StepLock, held, func(ctx context.Context) { s.lockAll(ctx, held, work) })
}

func (s *Service) lockAll(ctx context.Context, held attempts, work func(ctx context.Context, locked attempts)) {
	do := func(ctx context.Context, leases []*lock.Lease) []error {
		var locked attempts
		for i, lease := range leases {
			if lease != nil {
				held[i].Lease, held[i].Order.Fence = lease, lease.Fence()
				locked = append(locked, held[i])
			}
		}
		s.step(ctx, StepWork, locked, func(ctx context.Context) { work(ctx, locked) })
		return each(held, func(a *Attempt) error {
			if a.Lease == nil {
				return nil
			}
			err := withCause(a.Err, ctx, a.Lease.Context(), a.Context) // the lease may be what ended
			a.Lease = nil
			return err
		})
	}
	var errs []error
	if held.single() {
		errs = []error{s.locker.Do(ctx, lock.UserKey(held[0].Order.UserID), func(ctx context.Context, lease *lock.Lease) error {
			return do(ctx, []*lock.Lease{lease})[0]
		})}
	} else {
		errs = s.locker.DoMany(ctx, each(held, func(a *Attempt) string { return lock.UserKey(a.Order.UserID) }), do)
	}
	for i, a := range held {
		a.Err = errs[i]
	}
}
