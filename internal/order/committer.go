package order

import "context"

// Committer commits orders.
type Committer interface {
	// Place commits the orders of attempts of different users in one transaction, each with its fence and its
	// unit. It sets the slot of each order: the lowest that no live order of the user has. For an attempt that is
	// refused nothing is written, and its Err is ErrStaleFence, ErrLimitReached, ErrDuplicate if its user has
	// its request id or its id already, coupon.ErrSoldOut if there is no unit, ErrStaleEpoch if the coupon is in
	// another epoch. A commit that failed and may have happened is ErrCommitUnknown for all. Among several an attempt
	// is refused with ErrAlone if the error may be another's.
	Place(ctx context.Context, all []*Attempt)
	// Held reports whether another session held the row of a coupon a moment ago. An order of such a coupon goes by
	// itself, because the others of its batch would wait with it.
	Held(couponID int64) bool
}
