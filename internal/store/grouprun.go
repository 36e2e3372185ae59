package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"

	"seckill/internal/order"
)

// errRefused: somebody was refused by the coupon's row after the orders were written, or
// everybody was before. The transaction is rolled back and the others run again.
var errRefused = errors.New("store: some of the group are refused")

// process answers every member of a group.
func (g *GroupCommitter) process(group []*commitRequest) {
	var waited []*commitRequest
	for _, m := range group {
		if time.Since(m.enqueuedAt) > g.store.txTimeout {
			m.done <- fmt.Errorf("%w: the budget was spent waiting for a transaction", order.ErrUnavailable)
			continue
		}
		waited = append(waited, m)
	}
	group = waited
	for len(group) > 0 {
		start := time.Now()
		err := g.commitOnce(group)
		for _, m := range refused(group) {
			m.done <- m.outcome
		}
		group = remaining(group)
		if errors.Is(err, errRefused) {
			continue
		}
		if err == nil && g.o.OnCommit != nil {
			g.o.OnCommit(len(group), time.Since(start))
		}
		for _, m := range group {
			m.done <- requestError(err, len(group))
		}
		return
	}
}

// requestError is what a transaction's error means for one of n who were in it. What may
// be another's fault is no answer: each is to try alone.
func requestError(err error, n int) error {
	switch {
	case err == nil, errors.Is(err, order.ErrCommitUnknown):
		return err
	case n > 1 && errors.Is(err, context.DeadlineExceeded):
	case errors.Is(err, order.ErrUnavailable), errors.Is(err, errRetry):
		return err
	}
	return fmt.Errorf("%w: %w", errRetry, err)
}

// commitOnce does what the members want in one transaction. Who is refused on the way
// has an outcome; the error is that of the others.
func (g *GroupCommitter) commitOnce(group []*commitRequest) error {
	// Not a member's context: it ends with that member's request.
	o := &sql.TxOptions{Isolation: g.store.isolation}
	err := g.store.runTx(context.Background(), g.store.write, o, func(ctx context.Context, db *gorm.DB) error {
		t := groupTx{db.Statement.ConnPool, g.store.dialect}
		for _, one := range []struct {
			from step
			do   func(context.Context, []*commitRequest) error
		}{{stepFence, t.checkFencesAndSlots}, {stepInsert, t.writeOrders}} {
			if err := g.runSteps(ctx, group, one.from, one.do); err != nil {
				return err
			}
		}
		return g.callHook(ctx, stepCommit)
	})
	if errors.Is(err, errStockRefused) {
		return g.assignRefusals(withStep(remaining(group), stepTake))
	}
	return err
}

// runSteps does the steps from one on, for those who are here and not refused yet. Once
// their orders are written they are committed with the others, as an order is whose
// client has just gone.
func (g *GroupCommitter) runSteps(
	ctx context.Context, group []*commitRequest, from step, do func(context.Context, []*commitRequest) error,
) error {
	if err := g.callHook(ctx, from); err != nil {
		return err
	}
	dropCancelled(group)
	if err := do(ctx, remaining(group)); err != nil {
		return err
	}
	if len(remaining(group)) == 0 {
		return errRefused
	}
	return nil
}

func (g *GroupCommitter) callHook(ctx context.Context, next step) error {
	if g.stepHook == nil {
		return nil
	}
	return g.stepHook(ctx, next)
}

// dropCancelled answers those whose context has ended.
func dropCancelled(group []*commitRequest) {
	for _, m := range group {
		if err := m.ctx.Err(); err != nil && m.outcome == nil {
			m.outcome = classify(fmt.Errorf("in the transaction: %w", err))
		}
	}
}

func refused(group []*commitRequest) []*commitRequest {
	return filter(group, func(m *commitRequest) bool { return m.outcome != nil })
}

func remaining(group []*commitRequest) []*commitRequest {
	return filter(group, func(m *commitRequest) bool { return m.outcome == nil })
}

func withStep(group []*commitRequest, s step) []*commitRequest {
	return filter(group, func(m *commitRequest) bool { return m.has(s) })
}

func filter(group []*commitRequest, is func(*commitRequest) bool) []*commitRequest {
	kept := make([]*commitRequest, 0, len(group))
	for _, m := range group {
		if is(m) {
			kept = append(kept, m)
		}
	}
	return kept
}
