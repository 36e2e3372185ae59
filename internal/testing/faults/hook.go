package faults

import (
	"context"
	"slices"

	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/order"
)

// lostReplies are the errors of a reply that is lost, by step.
var lostReplies = map[order.Step]error{
	order.StepReserve: order.ErrUnavailable, order.StepLock: lock.ErrUnavailable, order.StepWork: order.ErrUnavailable,
	order.StepCommit: order.ErrCommitUnknown, order.StepConfirm: order.ErrUnavailable, order.StepRelease: order.ErrUnavailable,
}

// hook puts points around the steps of orders. A step of many orders crosses its points once for each of them. A reply
// that is lost for one is lost for all, because it is one.
func (p *Points) hook(ctx context.Context, step order.Step, all []*order.Attempt, do func(ctx context.Context)) {
	switch step {
	case order.StepLock:
		for range all {
			p.witness.asks(ctx)
		}
	case order.StepCommit:
		p.commit(ctx, all, do)
		return
	default:
	}
	lose(step, all, p.atMany(ctx, len(all), string(step), lostReplies[step], func() { do(ctx) }))
}

// lose sets the error of a lost reply.
func lose(step order.Step, all []*order.Attempt, lost error) {
	if lost == nil {
		return
	}
	for _, a := range all {
		if step == order.StepConfirm || step == order.StepRelease {
			a.HoldErr = lost
		} else {
			a.Err = lost
		}
	}
}

// commit has the points of a transaction. No statement of it belongs to one order only, so all points up to
// commit.before are crossed one after the other before it, and those of the commit around the whole.
func (p *Points) commit(ctx context.Context, all []*order.Attempt, do func(ctx context.Context)) {
	for _, a := range all {
		p.witness.begins(a.Order.Fence)
	}
	lost := p.crossStatements(ctx, len(all))
	if lost == nil {
		lost = p.atMany(ctx, len(all), "commit", order.ErrCommitUnknown, func() { do(context.WithValue(ctx, inside{}, true)) })
	}
	lose(order.StepCommit, all, lost)
	for _, a := range all {
		p.witness.ends(a.Order.Fence, a.Err)
	}
}

// crossStatements crosses the points before the commit, once for each of n orders.
func (p *Points) crossStatements(ctx context.Context, n int) error {
	for _, point := range []string{
		"begin.after", "fence.before", "fence.after", "slot.before", "slot.after",
		"insert.before", "insert.after", "take.before", "take.after",
	} {
		if err := p.hitMany(ctx, n, point, order.ErrUnavailable); err != nil {
			return err
		}
	}
	return nil
}

// atEach does a step for n members with its points around it. A lost reply is the error of each member.
func (p *Points) atEach(ctx context.Context, n int, step string, do func() []error) (errs []error) {
	lost := p.atMany(ctx, n, step, order.ErrUnavailable, func() { errs = do() })
	if lost != nil {
		errs = slices.Repeat([]error{lost}, n)
	}
	return errs
}
