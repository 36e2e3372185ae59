package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"gorm.io/gorm"

	"example.com/seckill/internal/order"
)

// errRefused reports that the coupon's row refused some attempts after the orders were
// written, or all of them before. The transaction is rolled back and the others run again.
var errRefused = errors.New("store: some of the orders are refused")

// A step is one round trip of a transaction. stepFence and stepInsert come in this order, or stepAtOnce
// instead of both.
type step uint8

const (
	stepFence  step = iota // the fences and the slots
	stepInsert             // the orders and the units
	stepAtOnce             // the fences, the orders and the units
	stepCommit
)

// commitOnce commits attempts in one transaction. It sets the error of those that are refused on the way, and returns
// the error of the others.
//
// Orders of users of one slot each have nothing to look for: they are written at once, in one round trip between BEGIN
// and COMMIT. If a fence or a unique index refuses that, it is rolled back. A read in another transaction then finds
// the attempt that was refused. All others look first.
func (c *Committer) commitOnce(ctx context.Context, all []*order.Attempt) error {
	err := errLook
	if !slices.ContainsFunc(all, func(a *order.Attempt) bool { return a.Sale.LimitPerUser > 1 }) {
		err = c.commitSteps(ctx, all, stepAtOnce)
	}
	if errors.Is(err, errLook) {
		err = c.commitSteps(ctx, all, stepFence, stepInsert)
	}
	if errors.Is(err, errStockRefused) {
		return c.assignRefusals(ctx, unrefused(all))
	}
	return err
}

// commitSteps commits attempts in one transaction of these steps.
func (c *Committer) commitSteps(ctx context.Context, all []*order.Attempt, steps ...step) error {
	o := &sql.TxOptions{Isolation: c.store.isolation}
	return c.store.runTx(ctx, c.store.write, o, func(ctx context.Context, db *gorm.DB) error {
		t := groupTx{db.Statement.ConnPool, c.store.dialect}
		do := map[step]func(context.Context, []*order.Attempt) error{
			stepFence: t.checkFencesAndSlots, stepInsert: t.writeOrders, stepAtOnce: t.writeAtOnce,
		}
		for _, s := range steps {
			if err := c.runStep(ctx, s, all, do[s]); err != nil {
				return err
			}
		}
		return c.callHook(ctx, stepCommit)
	})
}

// runStep does a step for the attempts that are neither cancelled nor refused yet. One that
// is cancelled after its order was written is committed with the others, as an order is
// whose client has just gone.
func (c *Committer) runStep(
	ctx context.Context, s step, all []*order.Attempt, do func(context.Context, []*order.Attempt) error,
) error {
	if err := c.callHook(ctx, s); err != nil {
		return err
	}
	dropCancelled(all)
	left := unrefused(all)
	if len(left) == 0 {
		return errRefused
	}
	if err := do(ctx, left); err != nil {
		return err
	}
	if len(unrefused(all)) == 0 {
		return errRefused
	}
	return nil
}

func (c *Committer) callHook(ctx context.Context, next step) error {
	if c.stepHook == nil {
		return nil
	}
	return c.stepHook(ctx, next)
}

// dropCancelled answers those whose context has ended.
func dropCancelled(all []*order.Attempt) {
	for _, a := range all {
		if err := a.Over(); err != nil && a.Err == nil {
			a.Err = classify(fmt.Errorf("in the transaction: %w", err))
		}
	}
}
