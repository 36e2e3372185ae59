package audit

import (
	"context"
	"time"

	"example.com/seckill/internal/store"
)

// readApart reads the database, and before and after it what is apart from the coupon's row. If neither reading
// differs from the other, no unit was taken meanwhile, and both show one moment.
func (a *Auditor) readApart(ctx context.Context, couponID int64) (evidence, error) {
	units, waiting, err := a.lookApart(ctx, couponID)
	if err != nil {
		return evidence{}, err
	}
	e := evidence{at: time.Now().UTC(), apart: true, holds: waiting}
	err = a.database.ReadSnapshot(ctx, couponID, func(ctx context.Context, l store.Snapshot) (err error) {
		e.coupon = l.Coupon()
		e.totals, err = l.Orders(ctx, func(context.Context, []store.SnapshotOrder) error { return nil })
		return err
	})
	if err != nil {
		return e, err
	}
	e.totals.Stale = 0 // these orders have no fence
	e.coupon.Left += units
	unitsAfter, waitingAfter, err := a.lookApart(ctx, couponID)
	e.quiet = err == nil && unitsAfter == units && waitingAfter == waiting
	return e, err
}

func (a *Auditor) lookApart(ctx context.Context, couponID int64) (units, waiting int64, err error) {
	if units, err = a.apart.Units(ctx, couponID); err != nil {
		return 0, 0, err
	}
	waiting, err = a.apart.Waiting(ctx, couponID)
	return units, waiting, err
}
