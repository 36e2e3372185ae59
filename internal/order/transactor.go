package order

import (
	"context"
	"time"
)

// Transactor owns begin and commit.
type Transactor interface {
	// InTx runs work in a transaction at READ COMMITTED. An error of work rolls
	// back. A deadlock or a lock-wait timeout rolls back and runs work again, so
	// work changes nothing but tx. A failed commit is ErrCommitUnknown.
	InTx(ctx context.Context, work func(ctx context.Context, tx Tx) error) error
}

// Tx is all that may be done in a transaction.
type Tx interface {
	// Fence records the fence of the user's lock; ErrStaleFence if a larger one
	// was recorded.
	Fence(ctx context.Context, userID int64, fence uint64) error
	// FreeSlot counts the user's live orders of the coupon and gives the lowest
	// free slot, or ErrLimitReached.
	FreeSlot(ctx context.Context, couponID, userID int64, limit int) (int, error)
	// Insert writes the order; ErrDuplicate if its user has its request id or its id
	// already.
	Insert(ctx context.Context, o Order) error
	// TakeOne lowers the coupon's stock by one; coupon.ErrSoldOut if there is none,
	// ErrStaleEpoch if the coupon is in another epoch.
	TakeOne(ctx context.Context, couponID, epoch int64) error

	// Pay moves a pending order that has not expired at now to Paid; false if it
	// is not such an order of the user.
	Pay(ctx context.Context, id, userID int64, now time.Time) (bool, error)
	// Cancel moves a pending order of the user to Cancelled; false if it is none.
	Cancel(ctx context.Context, id, userID int64) (bool, error)
	// Expire moves up to most pending orders whose time ran out at now to Expired and
	// returns them, the oldest first, without the first skip of them. Those that another
	// transaction has locked are left to it.
	Expire(ctx context.Context, now time.Time, skip, most int) ([]Order, error)
	// Restock raises the coupons' stocks by the orders' units and notes in the outbox
	// that the shards of these epochs are owed them: a Restock for each, in their order.
	Restock(ctx context.Context, of ...Order) ([]Restock, error)
}

// Orders are read, and voided, outside of any transaction of ours. Whoever asks for one
// names its user, by whom the orders may be partitioned.
type Orders interface {
	// Get reads an order of the user, or ErrNotFound: somebody else's is not found.
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
}

// Outbox lists what is due.
type Outbox interface {
	// DueRestocks lists up to limit units owed to the shards, by order id, from the
	// order id after on.
	DueRestocks(ctx context.Context, after int64, limit int) ([]Restock, error)
	// Delivered notes that the shards have the units.
	Delivered(ctx context.Context, of ...Restock) error
	// Overdue reports whether there are pending orders whose time had run out at now.
	Overdue(ctx context.Context, now time.Time) (bool, error)
}
