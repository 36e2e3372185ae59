package faults

import (
	"context"
	"errors"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// Service puts the points of a request around the order service's dependencies.
func (p *Points) Service(parts order.Deps) order.Deps {
	parts.Hooks = append([]order.Hook{p.hook}, parts.Hooks...) // around the others
	parts.Unresolved = unresolvedOrders{parts.Unresolved, p}
	parts.Restocker = restocker{parts.Restocker, p, ""}
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

// Next implements order.Queue. Its reply is lost after the entries were delivered.
func (q queue) Next(ctx context.Context, c coupon.Coupon, most int) ([]order.Entry, error) {
	entries, err := q.Queue.Next(ctx, c, most)
	return q.given(ctx, "next.after", entries, err)
}

// ClaimAbandoned implements order.Queue. It loses its reply as Next does.
func (q queue) ClaimAbandoned(ctx context.Context, c coupon.Coupon, most int) ([]order.Entry, error) {
	entries, err := q.Queue.ClaimAbandoned(ctx, c, most)
	return q.given(ctx, "claim.after", entries, err)
}

// given crosses a point if there are entries: the queues are polled all the time.
func (q queue) given(ctx context.Context, point string, entries []order.Entry, err error) ([]order.Entry, error) {
	if len(entries) == 0 {
		return nil, err
	}
	if lost := q.p.hit(ctx, point, order.ErrUnavailable); lost != nil {
		return nil, lost
	}
	return entries, err
}

// DeadLetter implements order.Queue.
func (q queue) DeadLetter(ctx context.Context, e order.Entry, why error) error {
	return q.p.at(ctx, "dead-letter", order.ErrUnavailable, func() error { return q.Queue.DeadLetter(ctx, e, why) })
}

// Ack implements order.Queue.
func (q queue) Ack(ctx context.Context, e order.Entry) error {
	return q.p.at(ctx, "acknowledge", order.ErrUnavailable, func() error { return q.Queue.Ack(ctx, e) })
}

// AckCommitted implements order.Queue.
func (q queue) AckCommitted(ctx context.Context, entries []order.Entry) []error {
	return q.p.atEach(ctx, len(entries), "acknowledge", func() []error { return q.Queue.AckCommitted(ctx, entries) })
}

// Reconciler puts the points of the background work around its dependencies.
func (p *Points) Reconciler(parts order.ReconcilerDeps) order.ReconcilerDeps {
	parts.Stock = stock{parts.Stock, p}
	parts.Restocker = restocker{parts.Restocker, p, "relay."}
	parts.Tx = transactor{parts.Tx, p}
	parts.Orders = orders{parts.Orders, p, "reconcile."}
	parts.Outbox = outbox{parts.Outbox, p}
	return parts
}

// Shards puts the points of a raise around the shards that coupons are loaded into.
func (p *Points) Shards(parts coupon.Shards) coupon.Shards { return shards{parts, p} }

type shards struct {
	coupon.Shards
	p *Points
}

// Raise implements coupon.Shards.
func (s shards) Raise(ctx context.Context, id, epoch int64, n int, raised int64) error {
	return s.p.at(ctx, "raise", order.ErrUnavailable, func() error { return s.Shards.Raise(ctx, id, epoch, n, raised) })
}

// stock is the stock of the reconciler. The steps of an order have the hook.
type stock struct {
	order.Stock
	p *Points
}

// Confirm implements order.Stock.
func (s stock) Confirm(ctx context.Context, holds []order.Hold) []error {
	return s.p.atEach(ctx, len(holds), "reconcile.confirm", func() []error { return s.Stock.Confirm(ctx, holds) })
}

// Release implements order.Stock.
func (s stock) Release(ctx context.Context, holds []order.Hold) []error {
	return s.p.atEach(ctx, len(holds), "reconcile.release", func() []error { return s.Stock.Release(ctx, holds) })
}

type unresolvedOrders struct {
	order.UnresolvedOrders
	p *Points
}

// PutUnresolved implements order.UnresolvedOrders.
func (t unresolvedOrders) PutUnresolved(ctx context.Context, orders []order.Order) []error {
	return t.p.atEach(ctx, len(orders), "unresolved", func() []error { return t.UnresolvedOrders.PutUnresolved(ctx, orders) })
}

type restocker struct {
	order.Restocker
	p      *Points
	prefix string
}

// Restock implements order.Restocker.
func (r restocker) Restock(ctx context.Context, back order.Restock) error {
	return r.p.at(ctx, r.prefix+"restock", order.ErrUnavailable, func() error { return r.Restocker.Restock(ctx, back) })
}

type orders struct {
	order.Orders
	p      *Points
	prefix string
}

// Void implements order.Orders.
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

// Delivered implements order.Outbox.
func (o outbox) Delivered(ctx context.Context, back ...order.Restock) error {
	return o.p.at(ctx, "relay.done", order.ErrUnavailable, func() error { return o.Outbox.Delivered(ctx, back...) })
}
