package order

import (
	"context"

	"example.com/seckill/internal/coupon"
)

// Placement is all that a transaction must know of an order to commit it.
type Placement struct {
	Order Order // under the fence of its user's lock; the committer finds its slot
	Limit int   // slots that the user has of the coupon
	Epoch int64 // of the stock that the unit is taken from
	// Context is the request's, for PlaceMany, which reads only its Err: nothing is
	// written for one that has ended. It may be nil.
	Context context.Context //nolint:containedctx // it is the waiting request's
}

func placementOf(o Order, sale coupon.Coupon) Placement {
	return Placement{Order: o, Limit: sale.LimitPerUser, Epoch: sale.Epoch}
}

// Committer commits orders. Single does it in a transaction each; a group committer does it
// for many in one. Both promise the same.
type Committer interface {
	// Place commits an order together with its fence and its unit, and returns the slot
	// that it has taken: the lowest that no live order of the user has. If it is refused
	// nothing is written, and the error is ErrStaleFence, ErrLimitReached, ErrDuplicate if
	// its user has its request id or its id already, or one of TakeOne's. A commit that
	// failed and may have happened is ErrCommitUnknown.
	Place(ctx context.Context, p Placement) (slot int, err error)
}

// Single is the Committer that gives each order a transaction of its own.
type Single struct{ Tx Transactor }

// Place implements Committer. These four statements, in this order, are what any
// committer does. The row with the stock is what all orders want, so it comes
// last and is locked for the shortest possible time.
func (s Single) Place(ctx context.Context, p Placement) (slot int, err error) {
	err = s.Tx.InTx(ctx, func(ctx context.Context, tx Tx) error {
		o := p.Order
		if err := tx.Fence(ctx, o.UserID, o.Fence); err != nil {
			return err
		}
		var err error
		if slot, err = tx.FreeSlot(ctx, o.CouponID, o.UserID, p.Limit); err != nil {
			return err
		}
		o.Slot = slot
		if err := tx.Insert(ctx, o); err != nil {
			return err
		}
		return tx.TakeOne(ctx, p)
	})
	return slot, err
}
