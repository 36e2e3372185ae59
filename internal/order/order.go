// Package order sells units of coupons: it decides what comes before what.
//
// The page to read first is place.go:
//
//	request ─▶ may it be bought (local) ─▶ is it sold out (local) ─▶ is a permit free (local)
//	        ─▶ RESERVE  a hold on one unit in the user's home shard
//	        ─▶ LOCK     the user's lock
//	        ─▶ BEGIN      fence ─▶ slot ─▶ insert the order ─▶ take one from the coupon   COMMIT
//	        ─▶ UNLOCK   only now, and only if the outcome is known
//	        ─▶ CONFIRM  the hold becomes history
//	        ─▶ answer
//
// Every step is done once for many orders, and each is answered with an outcome of its own (batch.go):
//
//	place ─▶ ┐ RESERVE many ─▶ LOCK many
//	place ─▶ ┤   BEGIN  all fences ─▶ all slots ─▶ all orders ─▶ all units  COMMIT
//	place ─▶ ┘ UNLOCK many ─▶ CONFIRM many
//
// The Committer (placement.go) does what stands between BEGIN and COMMIT. It takes each order as a
// value: the order to be placed, its fence, limit and epoch. With order.batch_size: 1 each order is
// made by itself.
//
// With order.mode: queue the answer comes after RESERVE, which also writes an entry into
// the shard's queue, and a worker does the rest (queue.go, worker.go). With order.queue_order:
// lottery the first buyers are drawn (lottery.go), and go on from RESERVE in that order.
//
// The lock makes one request of a user wait for another; it does not keep the data
// right. The fence, the unique slot and the conditional update do, and they would with a
// lock that excludes nothing.
//
// An epoch is one loading of a coupon's stock into the shards. A hold belongs to the
// epoch that it was reserved in, and TakeOne refuses a unit of any other epoch. So the
// stock can be loaded again at any time, and no unit is counted twice.
package order

import (
	"errors"
	"time"
)

// Status is where an order is in its life: pending ─▶ paid | cancelled | expired.
type Status string

// The states of an order.
const (
	Pending   Status = "pending"   // a unit is taken, payment is awaited until ExpiresAt
	Paid      Status = "paid"      // final
	Cancelled Status = "cancelled" // by its owner; the unit went back
	Expired   Status = "expired"   // not paid in time; the unit went back
	// Void is no order: its row takes an order's place, so that a request whose
	// outcome was unknown can never become one.
	Void Status = "void"
	// InDoubt is never stored in the database: it is the status of an order while the
	// outcome of its commit is unknown. It ends in an order or in Void.
	InDoubt Status = "in_doubt"
	// Queued is never stored there either: the request has a unit and waits in the
	// queue of its shard. It ends in an order or in Void.
	Queued Status = "queued"
	// NotDrawn is never stored either: the request had a ticket, and others were drawn.
	NotDrawn Status = "not_drawn"
)

// Live reports whether an order of this status has a unit and a slot.
func (s Status) Live() bool { return s == Pending || s == Paid }

// Order is one user's purchase of one unit.
type Order struct {
	ID         int64
	CouponID   int64
	UserID     int64
	Slot       int // 1 to the limit per user while the order is live, 0 after
	Status     Status
	PriceCents int64
	RequestID  string // the request that made it; one order at most has it
	Shard      int    // the shard that its unit came from
	Fence      uint64 // of the lock that it was made under
	CreatedAt  time.Time
	ExpiresAt  time.Time     // when it expires unless it is paid
	Position   QueuePosition // while it is Queued
	DrawsAt    time.Time     // while it is Queued as a ticket: when it is drawn
}

// QueuePosition is the place of an order in the queue of its shard.
type QueuePosition struct {
	Epoch      int64         // the queue ends with its epoch
	Number     int64         // counted by the shard's queue from 1
	Ahead      int64         // how many come before it, about
	Each       time.Duration // that an entry of the queue takes, about; 0 is not known
	RetryAfter time.Duration // when to ask again, as it may be its turn; 0 is soon, or not known
}

// Wait returns the time until the order is processed, about; 0 is not known.
func (p QueuePosition) Wait() time.Duration { return time.Duration(p.Ahead+1) * p.Each }

// The reasons why an order was not made, found or changed. Package coupon has those of
// a coupon that is not on sale or is sold out.
var (
	ErrNotFound     = errors.New("order: not found")
	ErrLimitReached = errors.New("order: the user has as many as the limit allows")
	ErrBusy         = errors.New("order: another request of the user is open")
	ErrConflict     = errors.New("order: its state forbids that")
	ErrCooldown     = errors.New("order: the user has given a unit back a moment ago")
	ErrKeyReused    = errors.New("order: the idempotency key belongs to another request")
	ErrUnavailable  = errors.New("order: store unavailable")

	// ErrPermitExpired and ErrOtherSale: the request's Permit does not admit it.
	ErrPermitExpired = errors.New("order: the time of the permit is over")
	ErrOtherSale     = errors.New("order: the permit is of another sale")

	// ErrVoided: the outcome of the request was unknown, and a void order has decided
	// that it never becomes one.
	ErrVoided = errors.New("order: the request was given up")
	// ErrCommitUnknown: the commit failed and may have happened. The order returned with
	// it has the id under which its outcome can be asked for.
	ErrCommitUnknown = errors.New("order: the outcome of the commit is not known")

	// ErrOverloaded: too many orders are in progress, or the queue is full. Nothing was taken.
	ErrOverloaded = errors.New("order: too many at once")

	// ErrStaleEpoch: the stock was loaded again since the hold was taken.
	ErrStaleEpoch = errors.New("order: the stock was loaded again")
	// ErrStaleFence: a later holder of the user's lock has written already.
	ErrStaleFence = errors.New("order: a later holder of the lock has written")
	// ErrDuplicate: the request id is taken, by an order or by a void one.
	ErrDuplicate = errors.New("order: the request has an order already")
)

// StaleFenceError is an ErrStaleFence with the fence that the database has seen.
type StaleFenceError struct {
	Given, Seen uint64
}

func (e *StaleFenceError) Error() string { return ErrStaleFence.Error() }

// CooldownError is an ErrCooldown with the time that is left of it.
type CooldownError struct{ Left time.Duration }

func (e *CooldownError) Error() string { return ErrCooldown.Error() }

// Is reports whether target is ErrCooldown.
func (e *CooldownError) Is(target error) bool { return target == ErrCooldown }

// Is reports whether target is ErrStaleFence.
func (e *StaleFenceError) Is(target error) bool { return target == ErrStaleFence }
