package store

import (
	"context"
	"errors"
	"time"

	"seckill/internal/order"
)

// notes is an order.Tx that asks nothing of the database: it writes down what one
// transaction is to do, so that a Group can do it for many at once.
//
// It answers yes to everything, and to FreeSlot with the slot that it was made with.
// Whether that was right is seen when the group does it: the error, or another
// slot, is then what the whole transaction answers.
//
// Each step may be asked for once, in the order in which a group does them. What
// does more, or something else, is alone: it needs a transaction of its own.
type notes struct {
	guess int // what FreeSlot answers

	steps  step // those that were asked for
	user   int64
	named  bool // user is known: TakeOne tells none
	fence  uint64
	coupon int64 // FreeSlot's
	limit  int
	order  order.Order
	from   int64 // TakeOne's coupon
	epoch  int64
	alone  bool
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

var _ order.Tx = (*notes)(nil)

// errAlone is the answer to what a group cannot do. Nobody sees it who has
// not asked for that: InTx runs the work once more, in a transaction of its own.
var errAlone = errors.New("store: not for a group")

// ask notes a step, if it is one that a group can do next.
func (n *notes) ask(s step) error {
	if n.steps >= s {
		n.alone = true
	}
	n.steps |= s
	if n.alone {
		return errAlone
	}
	return nil
}

// of notes a step of a user, who is the same in all steps.
func (n *notes) of(user int64, s step) error {
	if n.named && n.user != user {
		n.alone = true
	}
	n.user, n.named = user, true
	return n.ask(s)
}

func (n *notes) wants(s step) bool { return n.steps&s != 0 }

// Fence notes it.
func (n *notes) Fence(_ context.Context, userID int64, fence uint64) error {
	n.fence = fence
	return n.of(userID, stepFence)
}

// FreeSlot notes it and guesses.
func (n *notes) FreeSlot(_ context.Context, couponID, userID int64, limit int) (int, error) {
	n.coupon, n.limit = couponID, limit
	return n.guess, n.of(userID, stepSlot)
}

// Insert notes it.
func (n *notes) Insert(_ context.Context, o order.Order) error {
	n.order = o
	return n.of(o.UserID, stepInsert)
}

// TakeOne notes it.
func (n *notes) TakeOne(_ context.Context, couponID, epoch int64) error {
	n.from, n.epoch = couponID, epoch
	return n.ask(stepTake)
}

func (n *notes) leave() (bool, error) {
	n.alone = true
	return false, errAlone
}

// Pay is not for a group.
func (n *notes) Pay(context.Context, int64, int64, time.Time) (bool, error) { return n.leave() }

// Cancel is not for a group.
func (n *notes) Cancel(context.Context, int64, int64) (bool, error) { return n.leave() }

// Expire is not for a group.
func (n *notes) Expire(context.Context, time.Time, int, int) ([]order.Order, error) {
	_, err := n.leave()
	return nil, err
}

// Restock is not for a group.
func (n *notes) Restock(context.Context, ...order.Order) ([]order.Restock, error) {
	_, err := n.leave()
	return nil, err
}
