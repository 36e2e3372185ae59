package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
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
// Each call returns an outcome of its own. A refused one has written nothing, and costs
// the others at most one more run. When the group as such fails, by a deadlock, a lock
// wait or a statement that the database rejects for one of them, each call goes on
// in a transaction of its own. A failed commit is order.ErrCommitUnknown for every call
// of the group.
//
// A group is not waited for until it is full: an order that finds a committer idle is
// committed at once, and those that arrive while all are busy are the next group.
//
// It does not promise that an error comes from the step that is to blame: every step of
// work succeeds, and InTx returns the outcome.
type GroupCommitter struct {
	store  *Store
	o      GroupOptions
	queue  commitQueue
	warned sync.Once
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
	// Log gets a warning, once, if orders come that cannot be grouped; nil is slog.Default().
	Log *slog.Logger
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
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return &GroupCommitter{store: s, o: o}
}

// commitRequest is one call of InTx in the queue and in a group.
type commitRequest struct {
	txRecorder
	ctx        context.Context //nolint:containedctx // it is the waiting caller's
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

// warnUngroupable warns once if a transaction that makes an order has another sequence of
// steps than a group commits: every order is then a transaction of its own, and a tenth
// as many can be made.
func (g *GroupCommitter) warnUngroupable(m *commitRequest) {
	if m.steps != 0 {
		g.warned.Do(func() {
			g.o.Log.Warn("orders are not committed in groups: their steps are not fence, slot, insert, take")
		})
	}
}

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
			g.warnUngroupable(m)
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

// submit returns the outcome of m. If its context ends in the queue, m leaves it; in a
// group submit waits on, because the order may well be committed, but not past the
// deadline: then the outcome is unknown.
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
