package faults

import (
	"context"

	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/order"
)

// The calls for many orders cross the points of a step once for each of them. A reply that
// is lost for one is lost for all, because it is one.

// lostBy returns the errors of n members: lost for each if it is one.
func lostBy(lost error, errs []error, n int) []error {
	if lost == nil {
		return errs
	}
	errs = make([]error, n)
	for i := range errs {
		errs[i] = lost
	}
	return errs
}

// ReserveMany implements order.Stock.
func (s stock) ReserveMany(ctx context.Context, requests []order.ReserveRequest) (all []order.Reservation) {
	lost := s.p.atMany(ctx, len(requests), "reserve", order.ErrUnavailable, func() {
		all = s.Stock.ReserveMany(ctx, requests)
	})
	if lost != nil {
		all = make([]order.Reservation, len(requests))
		for i := range all {
			all[i].Err = lost
		}
	}
	return all
}

// ConfirmMany implements order.Stock.
func (s stock) ConfirmMany(ctx context.Context, holds []order.Hold) (errs []error) {
	lost := s.p.atMany(ctx, len(holds), s.prefix+"confirm", order.ErrUnavailable, func() { errs = s.Stock.ConfirmMany(ctx, holds) })
	return lostBy(lost, errs, len(holds))
}

// DoMany implements order.Locker.
func (l locker) DoMany(ctx context.Context, keys []string,
	work func(context.Context, []*lock.Lease) []error, opts ...lock.Option,
) (errs []error) {
	for range keys {
		l.p.witness.asks(ctx)
	}
	lost := l.p.atMany(ctx, len(keys), "lock", lock.ErrUnavailable, func() {
		errs = l.Locker.DoMany(ctx, keys, func(ctx context.Context, leases []*lock.Lease) (errs []error) {
			lost := l.p.atMany(ctx, len(leases), "work", order.ErrUnavailable, func() { errs = work(ctx, leases) })
			return lostBy(lost, errs, len(leases))
		}, opts...)
	})
	return lostBy(lost, errs, len(keys))
}
