package order_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/seckill/internal/order"
)

// faultyDatabase fails a commit before or after it really happened. The driver's
// error is the same, and so is this one's.
type faultyDatabase struct {
	order.Database
	f *faults
}

var errNoCommit = errors.New("the commit never arrived")

func (t faultyDatabase) InTx(ctx context.Context, work func(ctx context.Context, tx order.Tx) error) error {
	if t.f.hit("before begin") {
		return order.ErrUnavailable
	}
	err := t.Database.InTx(ctx, func(ctx context.Context, tx order.Tx) error {
		if err := work(ctx, faultyTx{tx, t.f}); err != nil {
			return err
		}
		if t.f.hit("before commit") {
			return errNoCommit
		}
		return nil
	})
	if errors.Is(err, errNoCommit) || err == nil && t.f.hit("after commit") {
		return fmt.Errorf("%w: %w", order.ErrCommitUnknown, errFault)
	}
	return err
}

// faultyCommitter does the same to the transaction of orders. The answer is lost for all of them.
type faultyCommitter struct {
	order.Committer
	f *faults
}

func (c faultyCommitter) Place(ctx context.Context, all []*order.Attempt) {
	if c.f.hit("before begin") {
		for _, a := range all {
			a.Err = order.ErrUnavailable
		}
		return
	}
	errs := c.f.many("commit", len(all), order.ErrCommitUnknown, func() []error {
		c.Committer.Place(ctx, all)
		errs := make([]error, len(all))
		for i, a := range all {
			errs[i] = a.Err
		}
		return errs
	})
	for i, err := range errs {
		all[i].Err = err
	}
}

type faultyTx struct {
	order.Tx
	f *faults
}

func (t faultyTx) Cancel(ctx context.Context, id, userID int64) (moved bool, err error) {
	err = t.f.store("cancel", func() (err error) { moved, err = t.Tx.Cancel(ctx, id, userID); return err })
	return moved, err
}

func (t faultyTx) Expire(ctx context.Context, now time.Time, skip, most int) (all []order.Order, err error) {
	err = t.f.store("expire", func() (err error) { all, err = t.Tx.Expire(ctx, now, skip, most); return err })
	return all, err
}

func (t faultyTx) Restock(ctx context.Context, of ...order.Order) (all []order.Restock, err error) {
	err = t.f.store("give back", func() (err error) { all, err = t.Tx.Restock(ctx, of...); return err })
	return all, err
}

func (t faultyDatabase) Void(ctx context.Context, o order.Order) error {
	return t.f.store("void", func() error { return t.Database.Void(ctx, o) })
}

func (t faultyDatabase) ByRequest(ctx context.Context, request string, userID int64) (o order.Order, err error) {
	err = t.f.store("read request", func() (err error) { o, err = t.Database.ByRequest(ctx, request, userID); return err })
	return o, err
}

func (t faultyDatabase) Delivered(ctx context.Context, back ...order.Restock) error {
	return t.f.store("returned", func() error { return t.Database.Delivered(ctx, back...) })
}
