package order

import (
	"context"
	"time"

	"example.com/seckill/internal/coupon"
)

// ReserveRequest asks the shards for one unit.
type ReserveRequest struct {
	CouponID      int64
	UserID        int64
	RequestID     string
	OrderID       int64 // names this attempt, and the order if it is the first of its request
	Limit         int   // units that the user may have
	Epoch         int64
	Shards        int
	Enqueue       *Order        // goes into the shard's queue with the hold; nil: nothing is queued
	QueueCapacity int           // entries that a shard's queue may have
	QueueMaxAge   time.Duration // how long an entry may wait: its hold begins to grow old only then
	// QueueUntilEnd is the time until the sale ends, if the entry may wait for so long, and 0 otherwise. It takes the
	// place of a shorter QueueMaxAge.
	QueueUntilEnd time.Duration
	Trace         string // the traceparent of the request, which its entry carries; "" is none
	// Alone says that the request goes by itself: a sibling shard may lend its unit, and the call may wait for a server.
	Alone bool
	// Context is that of the buyer's request, and may be nil. In a call for many, Reserve sends no command for a
	// request that has ended.
	Context context.Context
}

// Reservation is the result of one ReserveRequest.
type Reservation struct {
	Hold Hold
	Err  error
}

// Hold is a unit taken from a shard for one request whose order is not confirmed yet.
type Hold struct {
	CouponID  int64
	UserID    int64
	RequestID string
	OrderID   int64 // of the order that the unit is for
	Attempt   int64 // the OrderID of the ReserveRequest that returned this Hold
	Epoch     int64
	Shards    int
	Shard     int           // where the unit came from
	Queued    bool          // an entry of the shard's queue ends it
	Number    int64         // of that entry, counted by the shard's queue from 1; 0 for the mark of a borrower
	Ahead     int64         // how many of the queue's entries come before it, about; only set by Reserve
	Age       time.Duration // by the server's clock; only set by OldHolds
}

// OldHolds are the holds that no request has ended in time.
type OldHolds interface {
	// OldShards returns the shards of each coupon that may have holds older than age, in few round trips, and an error
	// for each coupon of which a shard did not answer.
	OldShards(ctx context.Context, all []coupon.Coupon, age time.Duration) (shards [][]int, errs []error)
	// OldHolds returns up to most of a shard's holds that are older than age, the oldest first, passing over the first
	// skip of them. The age of a queued hold counts from the moment at which its entry is too old to be processed.
	OldHolds(ctx context.Context, c coupon.Coupon, shard int, age time.Duration, skip, most int) ([]Hold, error)

	// OrderOf returns the id of the order that a request of the user has taken a unit for, or ErrNotFound. The order may
	// have no row yet. Only the epoch that is loaded knows its requests.
	OrderOf(ctx context.Context, sale coupon.Coupon, userID int64, requestID string) (int64, error)
}

// Shards are the sharded stock as this package uses it. Every call is idempotent: Reserve by request id, the others by
// order id. A call for many returns one result per member, in their order. A member whose answer is lost has the error
// ErrUnavailable. *stock.Stock implements it.
type Shards interface {
	OldHolds
	// SoldOut reports whether the shards of the epoch were last seen empty. It does no
	// I/O: a moment ago they may have been different.
	SoldOut(couponID, epoch int64) bool
	// LimitReached reports whether the user was last seen with all units that the sale
	// allows. It does no I/O either.
	LimitReached(sale coupon.Coupon, userID int64) bool
	// Remaining returns the units in each shard, or coupon.ErrNotLoaded.
	Remaining(ctx context.Context, couponID int64, shards int) ([]int64, error)
	// Reserve takes one unit for each request, of any coupons and users, from the user's home shard.
	//
	// If the home shard is empty, a request that goes by itself gets a unit of a sibling. Any other request gets
	// ErrFallback, also if the shard's server rejects the call for now. The caller repeats that request by itself.
	//
	// Reserve returns coupon.ErrSoldOut only after it saw every shard empty. Other errors are ErrLimitReached,
	// ErrCooldown, ErrBusy, ErrDuplicate, ErrStaleEpoch, coupon.ErrNotLoaded and ErrUnavailable. With Enqueue it also
	// writes the queue entry, in the same step and once only, or returns ErrOverloaded if the queue is full.
	Reserve(ctx context.Context, requests []ReserveRequest) []Reservation
	// Confirm ends the holds of committed orders and keeps their units sold.
	Confirm(ctx context.Context, holds []Hold) []error
	// Release ends the holds and puts their units back. The caller must have made sure that no
	// attempt of their requests can commit any more.
	Release(ctx context.Context, holds []Hold) []error
	// PutUnresolved keeps orders whose outcome is not in the database yet, Queued or InDoubt, so that every instance
	// can answer for them. It returns one error per order.
	PutUnresolved(ctx context.Context, orders []Order) []error
	// Unresolved returns such an order, or ErrNotFound.
	Unresolved(ctx context.Context, orderID int64) (Order, error)

	// Restock puts the unit of an order that has ended back. It changes nothing if the shards are of a newer epoch,
	// which was loaded with that unit. coupon.ErrNotLoaded if the shards are not loaded.
	Restock(ctx context.Context, r Restock) error
}

// Restock is a unit that is back in the database's stock and owed to the shards.
type Restock struct {
	OrderID  int64
	CouponID int64
	UserID   int64
	Shard    int   // where the unit came from
	Epoch    int64 // of the coupon when the unit went back
	Shards   int
}
