package order

import (
	"context"
	"time"
)

// Claim asks the shards for one unit.
type Claim struct {
	CouponID  int64
	UserID    int64
	RequestID string
	OrderID   int64 // names this attempt, and the order if this attempt is the first
	Limit     int   // units that the user may have
	Epoch     int64
	Shards    int
	Queue     *Order        // goes into the shard's queue with the hold; nil: nothing is queued
	Room      int           // entries that a shard's queue may have
	Wait      time.Duration // how long an entry may wait: its hold begins to grow old only then
}

// Hold is a unit taken from a shard for one request and not yet an order.
type Hold struct {
	CouponID  int64
	UserID    int64
	RequestID string
	OrderID   int64 // of the order that the unit is for
	Attempt   int64 // the OrderID of the Claim that this Hold answers
	Epoch     int64
	Shards    int
	Shard     int           // where the unit came from
	Queued    bool          // an entry of the shard's queue will end it
	Number    int64         // of that entry, counted by the shard's queue from 1; 0 for the mark of a borrower
	Ahead     int64         // how many of the queue's entries come before it, about; only set by Reserve
	Age       time.Duration // by the server's clock; only set by OldHolds
}

// Stock is the sharded stock as the order path uses it. Every call is idempotent:
// Reserve by request id, the others by order id.
type Stock interface {
	// SoldOut answers without I/O, from what this instance saw a moment ago.
	SoldOut(couponID, epoch int64) bool
	// Reserve takes one unit: from the user's home shard, else from a sibling.
	// coupon.ErrSoldOut only after every shard was seen empty; ErrLimitReached,
	// ErrBusy, ErrDuplicate, ErrStaleEpoch, coupon.ErrNotLoaded, ErrUnavailable. A
	// Claim with a MaxWaiting also writes the entry, in the same step and once only;
	// ErrOverloaded if there is no room for it.
	Reserve(ctx context.Context, c Claim) (Hold, error)
	// Confirm makes the hold history: its order is committed.
	Confirm(ctx context.Context, h Hold) error
	// Release gives the unit back, once no attempt of the request can commit.
	Release(ctx context.Context, h Hold) error
}

// Tickets remember a request whose outcome is not known yet, so that any instance
// can be asked about it.
type Tickets interface {
	PutTicket(ctx context.Context, o Order) error
	// Ticket finds the order asked for, or ErrNotFound.
	Ticket(ctx context.Context, orderID int64) (Order, error)
}

// Returns puts units of ended orders back into the shards.
type Returns interface {
	// Return gives one unit back, once in effect. A Return of an older epoch than
	// the shards' changes nothing: that unit was loaded with the newer epoch.
	// coupon.ErrNotLoaded if the shards are not there, or not there yet.
	Return(ctx context.Context, r Return) error
}

// Return is a unit that went back in the database and is owed to the shards.
type Return struct {
	OrderID  int64
	CouponID int64
	UserID   int64
	Shard    int   // where the order's unit had come from
	Epoch    int64 // the coupon's epoch when the unit went back
	Shards   int
}
