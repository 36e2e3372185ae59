package store

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"seckill/internal/order"
)

// GroupCommitter is an order.Transactor that commits the orders of many in one transaction,
// because the coupon's row, held over a durable commit, admits only so many
// transactions a second.
//
//	InTx: work writes down what it wants ─▶ queue ─┐
//	InTx: work writes down what it wants ─▶ queue ─┤ BEGIN
//	InTx: …                                        │  the fences ─▶ the slots ─▶ the orders ─▶ the units
//	      each is answered after the commit      ◀─┘ COMMIT
//
// Each gets an answer of its own. Who is refused has written nothing, and costs the
// others at most one more run. When the group as such fails, by a deadlock, a lock
// wait or something that the database does not like of one of them, each goes on
// alone. A failed commit is order.ErrCommitUnknown for everybody who was in it.
//
// Nobody waits for a group to fill: an order that finds a committer idle is
// committed at once, and what comes while all are busy is the next group.
//
// It does not promise that an error comes from the step that is to blame: the work
// is told yes at every step, and InTx tells what became of it.
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
	// OnCommit is told how many orders a transaction committed, and how long it took.
	OnCommit func(orders int, took time.Duration)
}

// GroupCommitter makes a GroupCommitter of this store. It needs no closing: its goroutines end when
// nobody waits.
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

// commitRequest is one call of InTx in the queue and in a group.
type commitRequest struct {
	txRecorder
	ctx        context.Context //nolint:containedctx // it is the caller's, who waits
	enqueuedAt time.Time
	state      atomic.Int32
	outcome    error
	done       chan error // outcome, once
}

// A member is in the queue until either a committer takes it or its caller leaves.
const (
	inQueue int32 = iota
	inGroup
	abandoned
)

// slotError: the wish was written down with another slot than the one that is free.
type slotError struct{ free int }

func (e *slotError) Error() string { return fmt.Sprintf("store: slot %d is free", e.free) }

// InTx writes down what work wants and has it done in a group. Work runs once more if
// its slot was not the first one, and if it is to run alone: see Store.InTx.
func (g *GroupCommitter) InTx(ctx context.Context, work func(ctx context.Context, tx order.Tx) error) error {
	guess := 1
	for range maxAttempts {
		m := &commitRequest{txRecorder: txRecorder{assumedSlot: guess}, ctx: ctx}
		if err := work(ctx, m); err != nil && !m.ungroupable {
			return err
		}
		if m.ungroupable || m.steps == 0 {
			break
		}
		err := g.submit(m)
		slot, wrong := errors.AsType[*slotError](err)
		switch {
		case wrong:
			guess = slot.free
			continue
		case !errors.Is(err, errRetry):
			return err
		}
		break
	}
	return g.store.InTx(ctx, work)
}

// submit waits for the answer. A caller whose context ends leaves the queue; in a
// group it waits for the answer, because it has an order as likely as not, but not
// past its deadline: then nobody knows what becomes of the order.
func (g *GroupCommitter) submit(m *commitRequest) error {
	if err := m.ctx.Err(); err != nil {
		return classify(fmt.Errorf("before the transaction: %w", err))
	}
	m.enqueuedAt, m.done = time.Now(), make(chan error, 1)
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

// run commits one group after the other until nobody waits.
func (g *GroupCommitter) run() {
	for {
		group := g.queue.nextGroup(g.o)
		if len(group) == 0 {
			return
		}
		g.process(group)
	}
}
