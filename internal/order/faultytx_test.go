package order_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"example.com/seckill/internal/order"
)

// faultyTransactor fails a commit before or after it really happened. The driver's
// error is the same, and so is this one's.
type faultyTransactor struct {
	order.Transactor
	f *faults
}

var errNoCommit = errors.New("the commit never arrived")

func (t faultyTransactor) InTx(ctx context.Context, work func(ctx context.Context, tx order.Tx) error) error {
	if t.f.hit("before begin") {
		return order.ErrUnavailable
	}
	err := t.Transactor.InTx(ctx, func(ctx context.Context, tx order.Tx) error {
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

// faultyCommitter does the same to a commit of many orders at once, in which the
// statements are not those of one order.
type faultyCommitter struct {
	order.Committer
	f *faults
}

func (c faultyCommitter) Place(ctx context.Context, p order.Placement) (slot int, err error) {
	if c.f.hit("before begin") {
		return 0, order.ErrUnavailable
	}
	err = c.f.at("commit", order.ErrCommitUnknown, func() error { slot, err = c.Committer.Place(ctx, p); return err })
	return slot, err
}

// ofAStatement reports whether one of the steps is a statement of one order.
func ofAStatement(steps string) bool {
	return slices.ContainsFunc([]string{" fence", " slot", " insert", " take"}, func(s string) bool { return strings.Contains(steps, s) })
}

type faultyTx struct {
	order.Tx
	f *faults
}

func (t faultyTx) Fence(ctx context.Context, userID int64, fence uint64) error {
	return t.f.store("fence", func() error { return t.Tx.Fence(ctx, userID, fence) })
}

func (t faultyTx) FreeSlot(ctx context.Context, couponID, userID int64, limit int) (slot int, err error) {
	err = t.f.store("slot", func() (err error) { slot, err = t.Tx.FreeSlot(ctx, couponID, userID, limit); return err })
	return slot, err
}

func (t faultyTx) Insert(ctx context.Context, o order.Order) error {
	return t.f.store("insert", func() error { return t.Tx.Insert(ctx, o) })
}

func (t faultyTx) TakeOne(ctx context.Context, p order.Placement) error {
	return t.f.store("take", func() error { return t.Tx.TakeOne(ctx, p) })
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

type faultyOrders struct {
	order.Orders
	f *faults
}

func (s faultyOrders) Void(ctx context.Context, o order.Order) error {
	return s.f.store("void", func() error { return s.Orders.Void(ctx, o) })
}

func (s faultyOrders) ByRequest(ctx context.Context, request string, userID int64) (o order.Order, err error) {
	err = s.f.store("read request", func() (err error) { o, err = s.Orders.ByRequest(ctx, request, userID); return err })
	return o, err
}

type faultyOutbox struct {
	order.Outbox
	f *faults
}

func (s faultyOutbox) Delivered(ctx context.Context, back ...order.Restock) error {
	return s.f.store("returned", func() error { return s.Outbox.Delivered(ctx, back...) })
}
