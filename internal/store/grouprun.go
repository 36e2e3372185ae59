package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"gorm.io/gorm"

	"example.com/seckill/internal/order"
)

// errRefused reports that the coupon's row refused some requests after the orders were
// written, or all of them before. The transaction is rolled back and the others run again.
var errRefused = errors.New("store: some of the group are refused")

// process commits a group and sends each request its outcome.
func (g *GroupCommitter) process(group []*commitRequest) {
	defer g.finishAfterPanic(group)
	var waited []*commitRequest
	for _, m := range group {
		if time.Since(m.enqueuedAt) > g.store.txTimeout {
			m.finish(fmt.Errorf("%w: the budget was spent waiting for a transaction", order.ErrUnavailable))
			continue
		}
		waited = append(waited, m)
	}
	group = waited
	for len(group) > 0 {
		start := time.Now()
		err := g.commitOnce(group)
		for _, m := range refused(group) {
			m.finish(m.outcome)
		}
		group = remaining(group)
		if errors.Is(err, errRefused) {
			continue
		}
		if err == nil && g.o.OnCommit != nil {
			g.o.OnCommit(len(group), time.Since(start))
		}
		if g.o.OnGroup != nil {
			g.o.OnGroup(placementsOf(group), start, err)
		}
		for _, m := range group {
			m.finish(requestError(err, len(group)))
		}
		return
	}
}

// finishAfterPanic is deferred by what commits a group. After a panic, which may be any one's, the outcome of those
// that have none yet is unknown.
func (g *GroupCommitter) finishAfterPanic(group []*commitRequest) {
	p := recover()
	if p == nil {
		return
	}
	g.store.log.Error("group commit panicked", "orders", len(group), "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	for _, m := range group {
		if m.state.Load() != answered {
			m.finish(fmt.Errorf("%w: the group panicked", order.ErrCommitUnknown))
		}
	}
}

func placementsOf(group []*commitRequest) []order.Placement {
	all := make([]order.Placement, len(group))
	for i, m := range group {
		all[i] = m.Placement
	}
	return all
}

// requestError translates a transaction's error for one of its n requests. An error that another request may have
// caused is errRetry: each request runs in a transaction of its own.
func requestError(err error, n int) error {
	switch {
	case err == nil, errors.Is(err, order.ErrCommitUnknown):
		return err
	case n > 1 && (errors.Is(err, context.DeadlineExceeded) || Cause(err) == CauseRejected):
	case errors.Is(err, order.ErrUnavailable), errors.Is(err, errRetry):
		return err
	}
	return fmt.Errorf("%w: %w", errRetry, err)
}

// A step is one round trip of a group's transaction. stepFence and stepInsert come in this order, or stepAtOnce
// instead of both.
type step uint8

const (
	stepFence  step = iota // the fences and the slots
	stepInsert             // the orders and the units
	stepAtOnce             // the fences, the orders and the units
	stepCommit
)

// commitOnce commits the group in one transaction. It sets the outcome of the requests that are
// refused on the way, and returns the error of the others.
//
// A group of users of one slot each has nothing to look for: it is written at once, in one round trip between BEGIN
// and COMMIT. If a fence or a unique index refuses that, it is rolled back. A read in another transaction then finds
// the request that was refused. All other groups look first.
func (g *GroupCommitter) commitOnce(group []*commitRequest) error {
	err := errLook
	if !slices.ContainsFunc(group, func(m *commitRequest) bool { return m.Limit > 1 }) {
		err = g.commitSteps(group, stepAtOnce)
	}
	if errors.Is(err, errLook) {
		err = g.commitSteps(group, stepFence, stepInsert)
	}
	if errors.Is(err, errStockRefused) {
		return g.assignRefusals(remaining(group))
	}
	return err
}

// commitSteps commits the group in one transaction of these steps.
func (g *GroupCommitter) commitSteps(group []*commitRequest, steps ...step) error {
	o := &sql.TxOptions{Isolation: g.store.isolation}
	// Not a member's context: it ends with that member's request.
	return g.store.runTx(context.Background(), g.store.write, o, func(ctx context.Context, db *gorm.DB) error {
		t := groupTx{db.Statement.ConnPool, g.store.dialect}
		do := map[step]func(context.Context, []*commitRequest) error{
			stepFence: t.checkFencesAndSlots, stepInsert: t.writeOrders, stepAtOnce: t.writeAtOnce,
		}
		for _, s := range steps {
			if err := g.runStep(ctx, s, group, do[s]); err != nil {
				return err
			}
		}
		return g.callHook(ctx, stepCommit)
	})
}

// runStep does a step for the requests that are neither cancelled nor refused yet. One that
// is cancelled after its order was written is committed with the others, as an order is
// whose client has just gone.
func (g *GroupCommitter) runStep(
	ctx context.Context, s step, group []*commitRequest, do func(context.Context, []*commitRequest) error,
) error {
	if err := g.callHook(ctx, s); err != nil {
		return err
	}
	dropCancelled(group)
	left := remaining(group)
	if len(left) == 0 {
		return errRefused
	}
	if err := do(ctx, left); err != nil {
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
		if err := m.Context.Err(); err != nil && m.outcome == nil {
			m.outcome = classify(fmt.Errorf("in the transaction: %w", err))
		}
	}
}

func refused(group []*commitRequest) []*commitRequest {
	return slices.DeleteFunc(slices.Clone(group), func(m *commitRequest) bool { return m.outcome == nil })
}

func remaining(group []*commitRequest) []*commitRequest {
	return slices.DeleteFunc(slices.Clone(group), func(m *commitRequest) bool { return m.outcome != nil })
}
