package order

import "context"

// Committer commits orders.
type Committer interface {
	// Place commits the orders of attempts of different users in one transaction, each with its fence and its unit. It
	// sets the slot of each order to the lowest slot that no live order of the user has.
	//
	// For an attempt that it rejects, Place writes nothing and sets Err. Err is ErrStaleFence, ErrLimitReached,
	// ErrDuplicate, coupon.ErrSoldOut or ErrStaleEpoch. ErrDuplicate means that the user already has the request id or
	// the order id. coupon.ErrSoldOut means that there is no unit. ErrStaleEpoch means that the coupon is in another
	// epoch.
	//
	// If the commit failed and may have happened, Place sets ErrCommitUnknown for all attempts. If there are several
	// attempts and the error of one may belong to another, Place rejects the attempt with ErrFallback.
	Place(ctx context.Context, all []*Attempt)
	// Held reports whether another session held the row of a coupon a moment ago. An order of this coupon is committed
	// by itself, because the other members of a batch would wait with it.
	Held(couponID int64) bool
}
