// Package order sells units of coupons and defines the order of the steps.
//
// Read place.go first:
//
//	request ─▶ may it be bought (local) ─▶ is it sold out (local) ─▶ is a permit free (local)
//	        ─▶ RESERVE  a hold on one unit in the user's home shard
//	        ─▶ LOCK     the user's lock
//	        ─▶ BEGIN      fence ─▶ slot ─▶ insert the order ─▶ take one from the coupon   COMMIT
//	        ─▶ UNLOCK   only now, and only if the outcome is known
//	        ─▶ CONFIRM  the hold becomes history
//	        ─▶ answer
//
// The package does every step once for many orders, and each order gets its own outcome. One request on this path is an
// Attempt. The attempts that arrive while a batch is in progress are the next (together.go). With order.batch_size: 1
// each attempt takes the steps by itself.
//
// With order.mode: queue the server answers after RESERVE. RESERVE also writes an entry into the shard's queue, and
// a worker brings the entry to the same steps (queue.go, worker.go).
//
// The lock makes one request of a user wait for another. It does not keep the data correct. The fence, the unique
// slot and the conditional update keep the data correct, even with a lock that excludes nothing.
//
// An epoch is one loading of a coupon's stock into the shards. A hold belongs to the epoch of its reservation, and
// TakeOne rejects a unit of any other epoch. So an administrator can load the stock again at any time, and no unit
// counts twice.
package order

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"

	"example.com/seckill/internal/coupon"
)

// Status is a stage in the life of an order: pending ─▶ paid | cancelled | expired.
type Status string

// The states of an order.
const (
	Pending   Status = "pending"   // the order has a unit and awaits payment until ExpiresAt
	Paid      Status = "paid"      // final
	Cancelled Status = "cancelled" // its owner cancelled it; the unit went back
	Expired   Status = "expired"   // not paid in time; the unit went back
	// Void marks a row that is not an order. The row takes the order's place, so that a request with an unknown
	// outcome can never become an order.
	Void Status = "void"
	// InDoubt is the status of an order while the outcome of its commit is unknown. The database never stores it.
	// The request ends in an order or in Void.
	InDoubt Status = "in_doubt"
	// Queued is the status of a request that has a unit and waits in the queue of its shard. The database never
	// stores it. The request ends in an order or in Void.
	Queued Status = "queued"
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
	RequestID  string // the request that made the order; at most one order has it
	Shard      int    // the shard that its unit came from
	Fence      uint64 // of the lock that its request held
	CreatedAt  time.Time
	ExpiresAt  time.Time     // when the unpaid order expires
	Position   QueuePosition // while the order is Queued
}

// QueuePosition is the place of an order in the queue of its shard.
type QueuePosition struct {
	Epoch      int64         // the queue ends with its epoch
	Number     int64         // the shard's queue counts from 1
	Ahead      int64         // estimated number of entries before it
	Each       time.Duration // estimated time for one entry of the queue; 0 = unknown
	RetryAfter time.Duration // when the client should ask again; 0 = soon, or unknown
}

// Wait returns the estimated time until a worker processes the order; 0 = unknown.
func (p QueuePosition) Wait() time.Duration { return time.Duration(p.Ahead+1) * p.Each }

// The reasons why the package did not make, find or change an order. Package coupon has the reasons for a coupon
// that is not on sale or is sold out.
var (
	ErrNotFound     = errors.New("order: not found")
	ErrLimitReached = errors.New("order: the user has as many as the limit allows")
	ErrBusy         = errors.New("order: another request of the user is open")
	ErrConflict     = errors.New("order: its state forbids that")
	ErrCooldown     = errors.New("order: the user has given a unit back a moment ago")
	ErrKeyReused    = errors.New("order: the idempotency key belongs to another request")
	ErrUnavailable  = errors.New("order: store unavailable")

	// ErrPermitExpired and ErrOtherSale report that the request's Permit does not admit the request.
	ErrPermitExpired = errors.New("order: the time of the permit is over")
	ErrOtherSale     = errors.New("order: the permit is of another sale")

	// ErrVoided reports that a void order took the request's place. The outcome of the request was unknown, and the
	// request can never become an order.
	ErrVoided = errors.New("order: the request was given up")
	// ErrCommitUnknown reports that the commit failed and may have happened. The returned order has the id with
	// which the client can ask for the outcome.
	ErrCommitUnknown = errors.New("order: the outcome of the commit is not known")

	// ErrOverloaded reports that too many orders are in progress, or that the queue is full. The request took no unit.
	ErrOverloaded = errors.New("order: too many at once")

	// ErrStaleEpoch reports that a loading of the stock followed the reservation of the hold.
	ErrStaleEpoch = errors.New("order: the stock was loaded again")
	// ErrStaleFence reports that a later holder of the user's lock has already written.
	ErrStaleFence = errors.New("order: a later holder of the lock has written")
	// ErrDuplicate reports that an order or a void order already has the request id.
	ErrDuplicate = errors.New("order: the request has an order already")
)

// StaleFenceError is an ErrStaleFence with the given fence and the fence in the database.
type StaleFenceError struct {
	Given, Seen uint64
}

func (e *StaleFenceError) Error() string { return ErrStaleFence.Error() }

// CooldownError is an ErrCooldown with the remaining time of the cooldown.
type CooldownError struct{ Remaining time.Duration }

func (e *CooldownError) Error() string { return ErrCooldown.Error() }

// Is reports whether target is ErrCooldown.
func (e *CooldownError) Is(target error) bool { return target == ErrCooldown }

// Is reports whether target is ErrStaleFence.
func (e *StaleFenceError) Is(target error) bool { return target == ErrStaleFence }

// Request asks for one unit for one user.
type Request struct {
	CouponID int64
	UserID   int64
	Key      string // the client's idempotency key; empty if it sent none
	Permit   Permit
}

// Permit bounds the sale and the time in which a Request may become an order, as a purchase token says.
// The zero Permit does not bound them. An order that a Request has become is found without one.
type Permit struct {
	BeginsAt time.Time // of the sale
	Until    time.Time
}

func (p Permit) admits(sale coupon.Coupon, now time.Time) error {
	switch {
	case p.Until.IsZero():
		return nil
	case p.BeginsAt.UnixMilli() != sale.BeginsAt.UnixMilli():
		return ErrOtherSale
	case !now.Before(p.Until):
		return ErrPermitExpired
	}
	return nil
}

// open returns the sale that the request may buy from, as far as this instance knows.
func (s *Service) open(ctx context.Context, r Request) (coupon.Coupon, error) {
	sale, err := s.sales.Get(ctx, r.CouponID)
	if err != nil {
		return coupon.Coupon{}, err
	}
	now := s.now()
	if err := sale.CheckPurchasable(now); err != nil {
		return coupon.Coupon{}, err
	}
	if err := r.Permit.admits(sale, now); err != nil {
		return coupon.Coupon{}, err
	}
	switch {
	case s.shards.SoldOut(sale.ID, sale.Epoch):
		return coupon.Coupon{}, coupon.ErrSoldOut
	case s.shards.LimitReached(sale, r.UserID):
		return coupon.Coupon{}, ErrLimitReached
	}
	return sale, nil
}

// newOrder returns the order that the request makes, if it makes one.
func (s *Service) newOrder(ctx context.Context, sale coupon.Coupon, r Request) (Order, error) {
	id, err := s.ids.Next(ctx)
	if err != nil {
		return Order{}, fmt.Errorf("%w: get an order id: %w", ErrUnavailable, err)
	}
	// The database keeps milliseconds: an order is the same when it is made and when it
	// is read.
	now := s.now().UTC().Truncate(time.Millisecond)
	return Order{
		ID: id, CouponID: sale.ID, UserID: r.UserID, Status: Pending, PriceCents: sale.PriceCents,
		RequestID: requestID(r, id), CreatedAt: now, ExpiresAt: now.Add(s.paymentTimeout),
	}, nil
}

// RequestID returns the name of a request with a Key.
func RequestID(r Request) string { return requestID(r, 0) }

// requestID returns the name of a request. With a key it depends on the user and the key
// alone, so that the same key is the same request; without one each request is new.
func requestID(r Request, orderID int64) string {
	if r.Key == "" {
		return "r" + strconv.FormatInt(orderID, 10)
	}
	sum := sha256.Sum256([]byte(strconv.FormatInt(r.UserID, 10) + ":" + r.Key))
	return "k" + hex.EncodeToString(sum[:20])
}

// reserveRequest returns the request for the unit of an attempt, in mode queue with its entry.
func (s *Service) reserveRequest(a *Attempt) ReserveRequest {
	o := a.Order
	r := ReserveRequest{
		CouponID: o.CouponID, UserID: o.UserID, RequestID: o.RequestID, OrderID: o.ID,
		Limit: a.Sale.LimitPerUser, Epoch: a.Sale.Epoch, Shards: a.Sale.Shards, Context: a.Context, Trace: a.Traceparent,
	}
	if s.queue != nil {
		r.Enqueue, r.QueueCapacity, r.QueueMaxAge, r.QueueUntilEnd = &o, s.queueCapacity, s.queueMaxAge, a.UntilEnd
		if a.onlyHeld {
			r.QueueCapacity = 0 // a full queue takes no new entry, and shows those that it has
		}
	}
	return r
}

// replay returns the order that the same key made before, or is about to make, when the request is refused now;
// without one the refusal stands. It reads nothing when a store is unavailable or too many
// orders are in progress: the client repeats such a request, and the load of a sale must
// not fall upon the database because Redis is away.
func (s *Service) replay(ctx context.Context, r Request, refusal error) (Order, error) {
	if errors.Is(refusal, ErrUnavailable) || errors.Is(refusal, ErrOverloaded) || errors.Is(refusal, coupon.ErrNotFound) ||
		errors.Is(refusal, ErrVoided) || errors.Is(refusal, ErrKeyReused) {
		return Order{}, refusal
	}
	o, err := s.resultOf(ctx, requestID(r, 0), r.CouponID, r.UserID)
	switch {
	case !errors.Is(err, ErrNotFound):
		return o, err
	case errors.Is(refusal, ErrDuplicate):
		// Redis knows an order that the database does not: that was set back, and the epoch
		// is about to end. The next one knows no such request.
		return Order{}, fmt.Errorf("%w: the request is known and its order is not to be found", ErrUnavailable)
	}
	return s.unfinished(ctx, r, refusal)
}

// unfinished returns what an earlier attempt of a request is about to make, when the request is refused now: its order
// while that is Queued or InDoubt, or ErrBusy. The refusal stands only if no attempt has a unit, and then none that
// began before can make an order without taking one first.
func (s *Service) unfinished(ctx context.Context, r Request, refusal error) (Order, error) {
	sale, err := s.sales.Get(ctx, r.CouponID)
	if err != nil {
		return Order{}, err
	}
	id, err := s.shards.OrderOf(ctx, sale, r.UserID, requestID(r, 0))
	switch {
	case errors.Is(err, ErrNotFound):
		return Order{}, refusal
	case err != nil:
		return Order{}, err
	}
	switch o, err := s.read(ctx, id, r.UserID); {
	case errors.Is(err, ErrNotFound):
		return Order{}, fmt.Errorf("%w: an earlier attempt of this request is in progress", ErrBusy)
	case err != nil:
		return Order{}, err
	case o.Status == Void:
		return Order{}, ErrVoided
	case o.Status == InDoubt:
		return o, ErrCommitUnknown
	default:
		return o, nil
	}
}
