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

// serve answers every member of a group.
func (g *Group) serve(group []*member) {
	var waited []*member
	for _, m := range group {
		if time.Since(m.since) > g.store.txTimeout {
			m.done <- fmt.Errorf("%w: the budget was spent waiting for a transaction", order.ErrUnavailable)
			continue
		}
		waited = append(waited, m)
	}
	group = waited
	for len(group) > 0 {
		start := time.Now()
		err := g.transact(group)
		for _, m := range answered(group) {
			m.done <- m.outcome
		}
		group = unanswered(group)
		if errors.Is(err, errRefused) {
			continue
		}
		if err == nil && g.o.Committed != nil {
			g.o.Committed(len(group), time.Since(start))
		}
		for _, m := range group {
			m.done <- outcome(err, len(group))
		}
		return
	}
}

// outcome is what a transaction's error means for one of n who were in it. What may
// be another's fault is no answer: each is to try alone.
func outcome(err error, n int) error {
	switch {
	case err == nil, errors.Is(err, order.ErrCommitUnknown):
		return err
	case n > 1 && errors.Is(err, context.DeadlineExceeded):
	case errors.Is(err, order.ErrUnavailable), errors.Is(err, errAgain):
		return err
	}
	return fmt.Errorf("%w: %w", errAgain, err)
}

// transact does what the members want in one transaction. Who is refused on the way
// has an outcome; the error is that of the others.
func (g *Group) transact(group []*member) error {
	// Not a member's context: it ends with that member's request.
	o := &sql.TxOptions{Isolation: g.store.isolation}
	err := g.store.once(context.Background(), g.store.write, o, func(ctx context.Context, db *gorm.DB) error {
		t := groupTx{db.Statement.ConnPool, g.store.dialect}
		for _, one := range []struct {
			from step
			do   func(context.Context, []*member) error
		}{{stepFence, t.look}, {stepInsert, t.write}} {
			if err := g.trip(ctx, group, one.from, one.do); err != nil {
				return err
			}
		}
		return g.hook(ctx, stepCommit)
	})
	if errors.Is(err, errShort) {
		return g.refuse(wanting(unanswered(group), stepTake))
	}
	return err
}

// trip does the steps from one on, for those who are here and not refused yet. Once
// their orders are written they are committed with the others, as an order is whose
// client has just gone.
func (g *Group) trip(ctx context.Context, group []*member, from step, do func(context.Context, []*member) error) error {
	if err := g.hook(ctx, from); err != nil {
		return err
	}
	dropGone(group)
	if err := do(ctx, unanswered(group)); err != nil {
		return err
	}
	if len(unanswered(group)) == 0 {
		return errRefused
	}
	return nil
}

func (g *Group) hook(ctx context.Context, next step) error {
	if g.before == nil {
		return nil
	}
	return g.before(ctx, next)
}

// dropGone answers those whose context has ended.
func dropGone(group []*member) {
	for _, m := range group {
		if err := m.ctx.Err(); err != nil && m.outcome == nil {
			m.outcome = classify(fmt.Errorf("in the transaction: %w", err))
		}
	}
}

func answered(group []*member) []*member {
	return only(group, func(m *member) bool { return m.outcome != nil })
}

func unanswered(group []*member) []*member {
	return only(group, func(m *member) bool { return m.outcome == nil })
}

func wanting(group []*member, s step) []*member {
	return only(group, func(m *member) bool { return m.wants(s) })
}

func only(group []*member, is func(*member) bool) []*member {
	kept := make([]*member, 0, len(group))
	for _, m := range group {
		if is(m) {
			kept = append(kept, m)
		}
	}
	return kept
}
