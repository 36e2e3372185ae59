package store

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"seckill/internal/order"
)

// GroupCommitter is an order.Committer that commits the orders of many in one transaction,
// because the coupon's row, held over a durable commit, admits only so many
// transactions a second.
//
//	Place ─▶ queue ─┐
//	Place ─▶ queue ─┤ BEGIN
//	Place ─▶ queue ─┤   the fences ─▶ the slots ─▶ the orders ─▶ the units
//	answers       ◀─┘ COMMIT
//
// Each call returns an outcome of its own. A refused one has written nothing, and costs
// the others at most one more run. When the group as such fails, by a deadlock, a lock
// wait or a statement that the database rejects for one of them, each call goes on
// in a transaction of its own. A failed commit is order.ErrCommitUnknown for every call
// of the group.
//
// A group is not waited for until it is full: an order that finds a committer idle is
// committed at once, and those that arrive while all are busy are the next group.
type GroupCommitter struct {
	store *Store
	o     GroupOptions
	queue commitQueue
	// stepHook is called before each step of a transaction, for tests.
	stepHook func(ctx context.Context, s step) error
}

// GroupOptions bound a GroupCommitter. The zero value is good.
type GroupOptions struct {
	MaxOrders  int // orders in one transaction at most; 0 is 256
	MaxWaiting int // orders that may wait; one more is order.ErrUnavailable; 0 is 8192
	// Committers is how many transactions may be at work at once; 0 is 1. More of them
	// wait for each other at the coupon's row, with smaller groups.
	Committers int
	// OnCommit is called with the number of orders that a transaction committed and its duration.
	OnCommit func(orders int, took time.Duration)
}

// GroupCommitter returns a GroupCommitter of this store. It needs no closing: its goroutines
// end when no call waits.
func (s *Store) GroupCommitter(o GroupOptions) *GroupCommitter {
	if o.MaxOrders == 0 {
		o.MaxOrders = 256
	}
	if o.MaxWaiting == 0 {
		o.MaxWaiting = 8192
	}
	if o.Committers == 0 {
		o.Committers = 1
	}
	return &GroupCommitter{store: s, o: o}
}

// commitRequest is one call of Place in the queue and in a group.
type commitRequest struct {
	order.Placement
	ctx        context.Context //nolint:containedctx // it is the waiting caller's
	enqueuedAt time.Time
	state      atomic.Int32
	outcome    error
	done       chan error // outcome, once; then Order.Slot is the one that was taken
}

// A request is in the queue until either a committer takes it or its caller leaves.
const (
	inQueue int32 = iota
	inGroup
	abandoned
)

// Place implements order.Committer. What a group cannot do goes on alone.
func (g *GroupCommitter) Place(ctx context.Context, p order.Placement) (slot int, err error) {
	m := &commitRequest{Placement: p, ctx: ctx, done: make(chan error, 1)}
	err = g.submit(m)
	switch {
	case errors.Is(err, errRetry):
		return order.Single{Tx: g.store}.Place(ctx, p)
	case err != nil:
		return 0, err
	}
	return m.Order.Slot, nil
}

// submit returns the outcome of m. If its context ends in the queue, m leaves it; in a
// group submit waits on, because the order may well be committed, but not past the
// deadline: then the outcome is unknown.
func (g *GroupCommitter) submit(m *commitRequest) error {
	if err := m.ctx.Err(); err != nil {
		return classify(fmt.Errorf("before the transaction: %w", err))
	}
	m.enqueuedAt = time.Now()
	if !g.queue.push(m, g.o) {
		return fmt.Errorf("%w: %d orders wait to be committed", order.ErrUnavailable, g.o.MaxWaiting)
	}
	if g.queue.startWorker(g.o) {
		go g.run()
	}
	select {
	case err := <-m.done:
		return err
	case <-m.ctx.Done():
		if m.state.CompareAndSwap(inQueue, abandoned) {
			return classify(fmt.Errorf("waiting for a transaction: %w", m.ctx.Err()))
		}
	}
	var over <-chan time.Time
	if until, bounded := m.ctx.Deadline(); bounded {
		t := time.NewTimer(time.Until(until))
		defer t.Stop()
		over = t.C
	}
	select {
	case err := <-m.done:
		return err
	case <-over:
		return fmt.Errorf("%w: no time is left to wait for the group", order.ErrCommitUnknown)
	}
}

// run commits one group after the other until the queue is empty.
func (g *GroupCommitter) run() {
	for {
		group := g.queue.nextGroup(g.o)
		if len(group) == 0 {
			return
		}
		g.process(group)
	}
}
