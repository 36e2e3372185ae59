package store

import (
	"context"
	"errors"
	"time"

	"seckill/internal/order"
)

// txRecorder is an order.Tx that asks nothing of the database: it writes down what one
// transaction is to do, so that a GroupCommitter can do it for many at once.
//
// It answers yes to everything, and to FreeSlot with the slot that it was made with.
// Whether that was right is seen when the group does it: the error, or another
// slot, is then what the whole transaction answers.
//
// Each step may be asked for once, in the order in which a group does them. What
// does more, or something else, is alone: it needs a transaction of its own.
type txRecorder struct {
	assumedSlot int // what FreeSlot answers

	steps       step // those that were asked for
	user        int64
	hasUser     bool // user is known: TakeOne tells none
	fence       uint64
	coupon      int64 // FreeSlot's
	limit       int
	order       order.Order
	stockCoupon int64 // TakeOne's coupon
	epoch       int64
	ungroupable bool
}

// A step is one thing that a transaction does. They are done in this order.
type step uint8

const (
	stepFence step = 1 << iota
	stepSlot
	stepInsert
	stepTake
	stepCommit
)

var _ order.Tx = (*txRecorder)(nil)

// errUngroupable reports that a transaction has steps that a group cannot batch. InTx
// handles it by running work again in a transaction of its own, so callers never see it.
var errUngroupable = errors.New("store: not for a group")

// record records a step, or returns errUngroupable if a group cannot run it next.
func (n *txRecorder) record(s step) error {
	if n.steps >= s {
		n.ungroupable = true
	}
	n.steps |= s
	if n.ungroupable {
		return errUngroupable
	}
	return nil
}

// recordFor records a step for user, which must be the same in every step.
func (n *txRecorder) recordFor(user int64, s step) error {
	if n.hasUser && n.user != user {
		n.ungroupable = true
	}
	n.user, n.hasUser = user, true
	return n.record(s)
}

func (n *txRecorder) has(s step) bool { return n.steps&s != 0 }

// Fence notes it.
func (n *txRecorder) Fence(_ context.Context, userID int64, fence uint64) error {
	n.fence = fence
	return n.recordFor(userID, stepFence)
}

// FreeSlot notes it and guesses.
func (n *txRecorder) FreeSlot(_ context.Context, couponID, userID int64, limit int) (int, error) {
	n.coupon, n.limit = couponID, limit
	return n.assumedSlot, n.recordFor(userID, stepSlot)
}

// Insert notes it.
func (n *txRecorder) Insert(_ context.Context, o order.Order) error {
	n.order = o
	return n.recordFor(o.UserID, stepInsert)
}

// TakeOne notes it.
func (n *txRecorder) TakeOne(_ context.Context, couponID, epoch int64) error {
	n.stockCoupon, n.epoch = couponID, epoch
	return n.record(stepTake)
}

func (n *txRecorder) refuse() (bool, error) {
	n.ungroupable = true
	return false, errUngroupable
}

// Pay is not for a group.
func (n *txRecorder) Pay(context.Context, int64, int64, time.Time) (bool, error) { return n.refuse() }

// Cancel is not for a group.
func (n *txRecorder) Cancel(context.Context, int64, int64) (bool, error) { return n.refuse() }

// Expire is not for a group.
func (n *txRecorder) Expire(context.Context, time.Time, int, int) ([]order.Order, error) {
	_, err := n.refuse()
	return nil, err
}

// Restock is not for a group.
func (n *txRecorder) Restock(context.Context, ...order.Order) ([]order.Restock, error) {
	_, err := n.refuse()
	return nil, err
}
