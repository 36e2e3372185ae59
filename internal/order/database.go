package order

import (
	"context"
	"time"

	"example.com/seckill/internal/coupon"
)

// Database has the orders. Every read names the user, because the orders may be partitioned by user. *store.Store
// implements it.
type Database interface {
	// InTx runs fn in a transaction at READ COMMITTED and commits it. An error of fn
	// rolls back and is returned. fn may run several times, as after a deadlock or a
	// lock-wait timeout, so it must assign to what it captures and never accumulate. A
	// commit that failed and may have happened is ErrCommitUnknown.
	InTx(ctx context.Context, fn func(ctx context.Context, tx Tx) error) error

	// Get reads an order of the user; ErrNotFound if there is none or it is another user's.
	Get(ctx context.Context, id, userID int64) (Order, error)
	// ByRequest reads the order that a request of the user made, or ErrNotFound.
	ByRequest(ctx context.Context, requestID string, userID int64) (Order, error)
	// List reads up to limit orders of the user with an id below before (0 is
	// no bound), newest first.
	List(ctx context.Context, userID, before int64, limit int) ([]Order, error)
	// Archived reads an order of the user whose sale ended long ago, or ErrNotFound.
	Archived(ctx context.Context, id, userID int64) (Order, error)
	// Void writes a Void order under o's request id, on a connection of its own.
	// ErrDuplicate if the request has an order, or is void, already.
	Void(ctx context.Context, o Order) error

	// DueRestocks lists up to limit units owed to the shards, ordered by order id, with
	// order ids above after.
	DueRestocks(ctx context.Context, after int64, limit int) ([]Restock, error)
	// Delivered removes units from the outbox: the shards have them.
	Delivered(ctx context.Context, of ...Restock) error
	// Overdue reports whether there are pending orders whose time had run out at now.
	Overdue(ctx context.Context, now time.Time) (bool, error)
}

// Tx has the statements of a transaction.
type Tx interface {
	// Fence records the fence of the user's lock; ErrStaleFence if a larger one
	// was recorded.
	Fence(ctx context.Context, userID int64, fence uint64) error
	// FreeSlot returns the lowest slot that no live order of the user for the coupon has,
	// or ErrLimitReached.
	FreeSlot(ctx context.Context, couponID, userID int64, limit int) (int, error)
	// Insert writes the order; ErrDuplicate if its user has its request id or its id
	// already.
	Insert(ctx context.Context, o Order) error
	// TakeOne decrements the stock of a sale; coupon.ErrSoldOut if there is
	// none left, ErrStaleEpoch if the coupon is in another epoch.
	TakeOne(ctx context.Context, sale coupon.Coupon) error

	// Pay moves a pending order of the user to Paid if it has not expired at now, and
	// reports whether it did.
	Pay(ctx context.Context, id, userID int64, now time.Time) (bool, error)
	// Cancel moves a pending order of the user to Cancelled and reports whether it did.
	Cancel(ctx context.Context, id, userID int64) (bool, error)
	// Expire moves up to most pending orders that had expired at now to Expired and returns
	// them, the oldest first, passing over the first skip of them. It leaves out those that
	// another transaction has locked.
	Expire(ctx context.Context, now time.Time, skip, most int) ([]Order, error)
	// Restock adds the orders' units to their coupons' stocks and writes the outbox rows by
	// which they are relayed to the shards. It returns a Restock for each, in their order.
	Restock(ctx context.Context, of ...Order) ([]Restock, error)
}
