package store

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"example.com/seckill/internal/order"
)

// GroupCommitter is an order.BatchCommitter that commits the orders of many in one transaction,
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
	// OnGroup is called when a transaction has ended, before its orders are answered, with what
	// it was to place, when it began, and its error. It may be nil.
	OnGroup func(placements []order.Placement, began time.Time, err error)
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

// commitRequest is one order in the queue and in a group.
type commitRequest struct {
	order.Placement
	enqueuedAt time.Time
	state      atomic.Int32
	outcome    error  // the committer's own
	answer     error  // valid once state is answered; then Order.Slot is the one that was taken
	caller     *party // that waits for the answer
}

// The states of a request. It is in the queue until either a committer takes it or its caller
// leaves.
const (
	inQueue int32 = iota
	inGroup
	abandoned
	answered
)

// party is the requests of one call, which waits for all of them.
type party struct {
	open atomic.Int32 // requests without an answer
	done chan struct{}
}

// finish answers m. It must be called once.
func (m *commitRequest) finish(err error) {
	m.answer = err
	m.state.Store(answered)
	m.caller.less()
}

func (p *party) less() {
	if p.open.Add(-1) == 0 {
		close(p.done)
	}
}

// newParty returns the requests of a call. The Context of each is set.
func newParty(ctx context.Context, many ...order.Placement) []*commitRequest {
	p := &party{done: make(chan struct{})}
	p.open.Store(int32(len(many))) //nolint:gosec // far fewer
	requests, now := make([]*commitRequest, len(many)), time.Now()
	for i, placement := range many {
		if placement.Context == nil {
			placement.Context = ctx
		}
		requests[i] = &commitRequest{Placement: placement, enqueuedAt: now, caller: p}
	}
	return requests
}

// Place implements order.Committer. What a group cannot do goes on alone.
func (g *GroupCommitter) Place(ctx context.Context, p order.Placement) (slot int, err error) {
	p.Context = ctx
	m := newParty(ctx, p)
	err = g.submit(ctx, m)[0]
	switch {
	case errors.Is(err, errRetry):
		return order.Single{Tx: g.store}.Place(ctx, p)
	case err != nil:
		return 0, err
	}
	return m[0].Order.Slot, nil
}

// PlaceMany implements order.BatchCommitter.
func (g *GroupCommitter) PlaceMany(ctx context.Context, many []order.Placement) []order.Placed {
	placed := make([]order.Placed, len(many))
	requests := newParty(ctx, many...)
	for i, err := range g.submit(ctx, requests) {
		switch {
		case errors.Is(err, errRetry), errors.Is(err, order.ErrDuplicate), errors.Is(err, order.ErrStaleFence):
			err = fmt.Errorf("%w: %w", order.ErrAlone, err)
		case err == nil:
			placed[i].Slot = requests[i].Order.Slot
		}
		placed[i].Err = err
	}
	return placed
}

// submit returns the outcome of each request of a call. If ctx ends, those that are in the
// queue leave it. For those in a group submit waits on, because the orders may well be
// committed, but not past the deadline: then their outcome is unknown.
func (g *GroupCommitter) submit(ctx context.Context, requests []*commitRequest) []error {
	errs := make([]error, len(requests))
	refuse := func(err error) []error {
		for i := range errs {
			errs[i] = err
		}
		return errs
	}
	if len(requests) == 0 {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return refuse(classify(fmt.Errorf("before the transaction: %w", err)))
	}
	if !g.queue.push(requests, g.o) {
		return refuse(fmt.Errorf("%w: %d orders wait to be committed", order.ErrUnavailable, g.o.MaxWaiting))
	}
	if g.queue.startWorker(g.o) {
		go g.run()
	}
	await(ctx, requests)
	for i, m := range requests {
		switch m.state.Load() {
		case answered:
			errs[i] = m.answer
		case abandoned:
			errs[i] = classify(fmt.Errorf("waiting for a transaction: %w", ctx.Err()))
		default:
			errs[i] = fmt.Errorf("%w: no time is left to wait for the group", order.ErrCommitUnknown)
		}
	}
	return errs
}

// await blocks until all requests of a call are answered or have left the queue, or the
// deadline of ctx has passed.
func await(ctx context.Context, requests []*commitRequest) {
	p := requests[0].caller
	select {
	case <-p.done:
		return
	case <-ctx.Done():
	}
	for _, m := range requests {
		if m.state.CompareAndSwap(inQueue, abandoned) {
			p.less()
		}
	}
	var over <-chan time.Time
	if until, bounded := ctx.Deadline(); bounded {
		t := time.NewTimer(time.Until(until))
		defer t.Stop()
		over = t.C
	}
	select {
	case <-p.done:
	case <-over:
	}
}

// run commits one group after the other until the queue is empty.
func (g *GroupCommitter) run() {
	for group := g.queue.nextGroup(g.o); len(group) > 0; group = g.queue.nextGroup(g.o) {
		g.process(group)
	}
}
