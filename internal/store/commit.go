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

// Committer is the order.Committer of a database. It commits the orders of many users in one transaction, because the
// coupon's row, locked over a durable commit, limits the transactions a second:
//
//	BEGIN ─▶ the fences ─▶ the slots ─▶ the orders ─▶ the units ─▶ COMMIT
//
// Each order has an outcome of its own. A refused one has written nothing, and costs the others at most one more run.
// When the transaction as such fails among several, by a deadlock, a lock wait or a statement that the database rejects
// for one of them, each is refused with order.ErrFallback. A single order is then written statement by statement. A
// failed commit is order.ErrCommitUnknown for all.
type Committer struct {
	store *Store
	o     CommitOptions
	turns chan struct{} // a token for each transaction in progress
	held  *heldRows
	// stepHook is called before each step of a transaction, for tests.
	stepHook func(ctx context.Context, s step) error
}

// CommitOptions configure a Committer. The zero value is good.
type CommitOptions struct {
	// AtOnce is how many transactions are in progress at most; 0 is 1. More of them wait for each other at the
	// coupon's row.
	AtOnce int
	// OnCommit is called with the number of orders that a transaction committed and its duration. It may be nil.
	OnCommit func(orders int, took time.Duration)
	// OnTransaction is called when a transaction has ended, with the attempts that it was to commit, when it began, and
	// its error. It may be nil.
	OnTransaction func(all []*order.Attempt, began time.Time, err error)
}

// Committer returns a Committer of this store.
func (s *Store) Committer(o CommitOptions) *Committer {
	return &Committer{store: s, o: o, turns: make(chan struct{}, max(1, o.AtOnce)), held: newHeldRows()}
}

// Place implements order.Committer. A request that is cancelled ends no transaction, because others are in it. The
// deadline of ctx does.
func (c *Committer) Place(ctx context.Context, all []*order.Attempt) {
	all, turns := c.separate(all)
	if len(all) == 0 {
		return
	}
	if err := c.waitForTurn(ctx, turns); err != nil {
		for _, a := range all {
			a.Err = err
		}
		return
	}
	defer func() { <-turns }()
	ctx, cancel := withDeadlineOnly(ctx)
	defer cancel()
	defer c.failAfterPanic(all)
	c.commit(ctx, all)
	for _, a := range all {
		switch {
		case !errors.Is(a.Err, errRetry):
		case len(all) == 1:
			c.commitAlone(ctx, a)
		default:
			a.Err = fmt.Errorf("%w: %w", order.ErrFallback, a.Err)
		}
	}
}

// waitForTurn waits until a transaction may begin, for as long as a transaction may take.
func (c *Committer) waitForTurn(ctx context.Context, turns chan struct{}) error {
	if err := ctx.Err(); err != nil { // the locks may be what ended
		return classify(fmt.Errorf("before the transaction: %w", err))
	}
	select {
	case turns <- struct{}{}:
		return nil
	default:
	}
	budget := time.NewTimer(c.store.txTimeout)
	defer budget.Stop()
	select {
	case turns <- struct{}{}:
		return nil
	case <-budget.C:
		return fmt.Errorf("%w: the budget was spent waiting for a transaction", order.ErrUnavailable)
	case <-ctx.Done():
		return classify(fmt.Errorf("waiting for a transaction: %w", ctx.Err()))
	}
}

// withDeadlineOnly returns a context that has the deadline of ctx, and does not end with it otherwise.
func withDeadlineOnly(ctx context.Context) (context.Context, context.CancelFunc) {
	only := context.WithoutCancel(ctx)
	if until, bounded := ctx.Deadline(); bounded {
		return context.WithDeadline(only, until)
	}
	return context.WithCancel(only)
}

// commit commits the attempts, and those that are left again when some were refused.
func (c *Committer) commit(ctx context.Context, all []*order.Attempt) {
	for left := unrefused(all); len(left) > 0; left = unrefused(left) {
		began := time.Now()
		err := c.commitOnce(ctx, left)
		if errors.Is(err, errRefused) {
			continue
		}
		left = unrefused(left)
		if err == nil && c.o.OnCommit != nil {
			c.o.OnCommit(len(left), time.Since(began))
		}
		if c.o.OnTransaction != nil {
			c.o.OnTransaction(left, began, err)
		}
		if id, one := onlyCoupon(left); one {
			c.held.note(id, err, c.store.txTimeout)
		}
		for _, a := range left {
			a.Err = attemptError(err, len(left))
		}
		return
	}
}

// failAfterPanic is deferred by what commits attempts. After a panic, which may be any one's, the outcome of those
// that have none is unknown.
func (c *Committer) failAfterPanic(all []*order.Attempt) {
	p := recover()
	if p == nil {
		return
	}
	c.store.log.Error("commit panicked", "orders", len(all), "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	for _, a := range unrefused(all) {
		a.Err = fmt.Errorf("%w: the commit panicked", order.ErrCommitUnknown)
	}
}

// commitAlone commits one attempt statement by statement.
func (c *Committer) commitAlone(ctx context.Context, a *order.Attempt) {
	began := time.Now()
	a.Err = c.store.placeAlone(ctx, a)
	if a.Err == nil && c.o.OnCommit != nil {
		c.o.OnCommit(1, time.Since(began))
	}
}

// attemptError translates a transaction's error for one of its n attempts. An error that another attempt may have
// caused is errRetry: each attempt runs in a transaction of its own.
func attemptError(err error, n int) error {
	switch {
	case err == nil, errors.Is(err, order.ErrCommitUnknown):
		return err
	case n > 1 && (errors.Is(err, context.DeadlineExceeded) || Cause(err) == CauseRejected):
	case errors.Is(err, order.ErrUnavailable), errors.Is(err, errRetry):
		return err
	}
	return fmt.Errorf("%w: %w", errRetry, err)
}

// placeAlone commits one order statement by statement, and again after a deadlock or a lock wait. The row with the
// stock is what all orders want, so it comes last and is locked for the shortest possible time.
func (s *Store) placeAlone(ctx context.Context, a *order.Attempt) error {
	return s.InTx(ctx, func(ctx context.Context, tx order.Tx) error { return statementsOf(ctx, tx, a) })
}

// statementsOf are the statements of one order, in their order.
func statementsOf(ctx context.Context, tx order.Tx, a *order.Attempt) (err error) {
	o := a.Order
	if err := tx.Fence(ctx, o.UserID, o.Fence); err != nil {
		return err
	}
	if o.Slot, err = tx.FreeSlot(ctx, o.CouponID, o.UserID, a.Sale.LimitPerUser); err != nil {
		return err
	}
	if err := tx.Insert(ctx, o); err != nil {
		return err
	}
	a.Order.Slot = o.Slot
	return tx.TakeOne(ctx, a.Sale)
}

// unrefused returns the attempts without an error.
func unrefused(all []*order.Attempt) []*order.Attempt {
	return slices.DeleteFunc(slices.Clone(all), func(a *order.Attempt) bool { return a.Err != nil })
}

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
