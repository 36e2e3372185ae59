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
	parts.Shards, parts.DB = shards{parts.Shards, p, ""}, database{parts.DB, p, ""}
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
	parts.Shards, parts.DB = reconciled{shards{parts.Shards, p, "relay."}}, database{parts.DB, p, "reconcile."}
	return parts
}

// Shards puts the points of a raise around the shards that coupons are loaded into.
func (p *Points) Shards(parts coupon.Shards) coupon.Shards { return loaded{parts, p} }

type loaded struct {
	coupon.Shards
	p *Points
}

// Raise implements coupon.Shards.
func (l loaded) Raise(ctx context.Context, id, epoch int64, n int, raised int64) error {
	return l.p.at(ctx, "raise", order.ErrUnavailable, func() error { return l.Shards.Raise(ctx, id, epoch, n, raised) })
}

// RaiseAll implements coupon.Looks.
func (l loaded) RaiseAll(ctx context.Context, all []coupon.Coupon) []error {
	if len(all) == 0 {
		return nil
	}
	return l.p.atEach(ctx, len(all), "raise", func() []error { return l.Shards.RaiseAll(ctx, all) })
}

// shards have the points that are not those of a step, which the hook has.
type shards struct {
	order.Shards
	p      *Points
	prefix string // of the point of Restock
}

// PutUnresolved implements order.Shards.
func (s shards) PutUnresolved(ctx context.Context, orders []order.Order) []error {
	return s.p.atEach(ctx, len(orders), "unresolved", func() []error { return s.Shards.PutUnresolved(ctx, orders) })
}

// Restock implements order.Shards.
func (s shards) Restock(ctx context.Context, back order.Restock) error {
	return s.p.at(ctx, s.prefix+"restock", order.ErrUnavailable, func() error { return s.Shards.Restock(ctx, back) })
}

// reconciled are the shards of the reconciler, which takes no steps.
type reconciled struct{ shards }

// Confirm implements order.Shards.
func (r reconciled) Confirm(ctx context.Context, holds []order.Hold) []error {
	return r.p.atEach(ctx, len(holds), "reconcile.confirm", func() []error { return r.shards.Confirm(ctx, holds) })
}

// Release implements order.Shards.
func (r reconciled) Release(ctx context.Context, holds []order.Hold) []error {
	return r.p.atEach(ctx, len(holds), "reconcile.release", func() []error { return r.shards.Release(ctx, holds) })
}

// database has the points of the reconciler's calls and of payments, cancellations and expiries (tx.go).
type database struct {
	order.Database
	p      *Points
	prefix string // of the point of Void
}

// Void implements order.Database.
func (d database) Void(ctx context.Context, void order.Order) error {
	err := d.p.at(ctx, d.prefix+"void", order.ErrUnavailable, func() error { return d.Database.Void(ctx, void) })
	if err == nil || errors.Is(err, order.ErrDuplicate) {
		d.p.witness.ends(void.Fence, nil)
	}
	return err
}

// Delivered implements order.Database.
func (d database) Delivered(ctx context.Context, back ...order.Restock) error {
	return d.p.at(ctx, "relay.done", order.ErrUnavailable, func() error { return d.Database.Delivered(ctx, back...) })
}
