package faults

import (
	"context"
	"errors"
	"strings"

	"seckill/internal/coupon"
	"seckill/internal/lock"
	"seckill/internal/order"
)

// Service puts the points of a request around the order service's parts.
func (p *Points) Service(parts order.Parts) order.Parts {
	parts.Stock = stock{parts.Stock, p, ""}
	parts.Tickets = tickets{parts.Tickets, p}
	parts.Returns = returns{parts.Returns, p, ""}
	parts.Locker = locker{parts.Locker, p}
	parts.Tx = transactor{parts.Tx, p}
	parts.Orders = orders{parts.Orders, p, ""}
	if parts.Queue != nil {
		parts.Queue = queue{parts.Queue, p}
	}
	return parts
}

type queue struct {
	order.Queue
	p *Points
}

// Next is order.MaxWaiting's. Its reply is lost after the entries were given away.
func (q queue) Next(ctx context.Context, c coupon.Coupon, most int) ([]order.Entry, error) {
	entries, err := q.Queue.Next(ctx, c, most)
	return q.given(ctx, "next.after", entries, err)
}

// Abandoned is order.MaxWaiting's, as Next.
func (q queue) Abandoned(ctx context.Context, c coupon.Coupon, most int) ([]order.Entry, error) {
	entries, err := q.Queue.Abandoned(ctx, c, most)
	return q.given(ctx, "claim.after", entries, err)
}

// given crosses a point if there are entries: the queues are looked into all the time.
func (q queue) given(ctx context.Context, point string, entries []order.Entry, err error) ([]order.Entry, error) {
	if len(entries) == 0 {
		return nil, err
	}
	if lost := q.p.hit(ctx, point, order.ErrUnavailable); lost != nil {
		return nil, lost
	}
	return entries, err
}

// Bury is order.MaxWaiting's.
func (q queue) Bury(ctx context.Context, e order.Entry, why error) error {
	return q.p.at(ctx, "bury", order.ErrUnavailable, func() error { return q.Queue.Bury(ctx, e, why) })
}

// Done is order.MaxWaiting's.
func (q queue) Done(ctx context.Context, e order.Entry, row bool) error {
	return q.p.at(ctx, "acknowledge", order.ErrUnavailable, func() error { return q.Queue.Done(ctx, e, row) })
}

// Reconciler puts the points of the background work around its parts.
func (p *Points) Reconciler(parts order.ReconcilerDeps) order.ReconcilerDeps {
	parts.Stock = stock{parts.Stock, p, "settle."}
	parts.Returns = returns{parts.Returns, p, "relay."}
	parts.Tx = transactor{parts.Tx, p}
	parts.Orders = orders{parts.Orders, p, "settle."}
	parts.Outbox = outbox{parts.Outbox, p}
	return parts
}

type stock struct {
	order.Stock
	p      *Points
	prefix string
}

// Reserve is order.Stock's.
func (s stock) Reserve(ctx context.Context, c order.Claim) (h order.Hold, err error) {
	err = s.p.at(ctx, "reserve", order.ErrUnavailable, func() (err error) {
		h, err = s.Stock.Reserve(ctx, c)
		return err
	})
	return h, err
}

// Confirm is order.Stock's.
func (s stock) Confirm(ctx context.Context, h order.Hold) error {
	return s.p.at(ctx, s.prefix+"confirm", order.ErrUnavailable, func() error { return s.Stock.Confirm(ctx, h) })
}

// Release is order.Stock's.
func (s stock) Release(ctx context.Context, h order.Hold) error {
	return s.p.at(ctx, s.prefix+"release", order.ErrUnavailable, func() error { return s.Stock.Release(ctx, h) })
}

type tickets struct {
	order.Tickets
	p *Points
}

// PutTicket is order.Tickets'.
func (t tickets) PutTicket(ctx context.Context, o order.Order) error {
	return t.p.at(ctx, "ticket", order.ErrUnavailable, func() error { return t.Tickets.PutTicket(ctx, o) })
}

type returns struct {
	order.Returns
	p      *Points
	prefix string
}

// Return is order.Returns'.
func (r returns) Return(ctx context.Context, back order.Return) error {
	return r.p.at(ctx, r.prefix+"return", order.ErrUnavailable, func() error { return r.Returns.Return(ctx, back) })
}

type orders struct {
	order.Orders
	p      *Points
	prefix string
}

// Void is order.Orders'.
func (o orders) Void(ctx context.Context, void order.Order) error {
	err := o.p.at(ctx, o.prefix+"void", order.ErrUnavailable, func() error { return o.Orders.Void(ctx, void) })
	if err == nil || errors.Is(err, order.ErrDuplicate) {
		o.p.witness.ends(void.Fence, nil)
	}
	return err
}

type outbox struct {
	order.Outbox
	p *Points
}

// Returned is order.Outbox's.
func (o outbox) Returned(ctx context.Context, back ...order.Return) error {
	return o.p.at(ctx, "relay.done", order.ErrUnavailable, func() error { return o.Outbox.Returned(ctx, back...) })
}

type locker struct {
	order.Locker
	p *Points
}

// ofUser is what the keys of users' locks have in them, as the order path and the
// backends see them.
const ofUser = "user:"

// Do is order.Locker's.
func (l locker) Do(ctx context.Context, key string, work func(context.Context, *lock.Lease) error, opts ...lock.Option) error {
	if !strings.HasPrefix(key, ofUser) {
		return l.Locker.Do(ctx, key, work, opts...)
	}
	l.p.witness.asks(ctx)
	return l.p.at(ctx, "lock", lock.ErrUnavailable, func() error {
		return l.Locker.Do(ctx, key, func(ctx context.Context, lease *lock.Lease) error {
			return l.p.at(ctx, "work", order.ErrUnavailable, func() error { return work(ctx, lease) })
		}, opts...)
	})
}
