package designs

import (
	"context"
	"database/sql"
	"time"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// unlockInDefer defers the unlock above the check whether it got the lock.
//
// Wrong: a request that does not get the lock deletes it all the same, on its way out. The first request is still at
// work. The next try gets a lock that should not be free, counts no order, and the user buys twice. The stock is right,
// because the conditional update decides about it.
//
// The form comes from a mutex: lock and deferred unlock stand together, and the check comes after them. In Java it is
// tryLock inside the try block with unlock in finally. The manual of Lock in Java shows the right form.
//
// The experiment defer-unlock of the lab shows it step by step.
var unlockInDefer = Design{
	Name: "unlock-in-defer", Violates: "I3", Experiment: "defer-unlock",
	Source: "https://docs.oracle.com/en/java/javase/21/docs/api/java.base/java/util/concurrent/locks/Lock.html",
	make:   func(s *stores) maker { return deferMaker{s} },
}

type deferMaker struct{ *stores }

// The tries of a request that does not get the lock, and the time between them.
const (
	deferTries = 5
	deferPause = 2 * time.Millisecond
)

// Make tries a few times, as a framework does that repeats a method which failed.
func (m deferMaker) Make(ctx context.Context, sale coupon.Coupon, o order.Order) error {
	for range deferTries {
		locked, err := m.tryOnce(ctx, sale, o)
		if locked || err != nil {
			return err
		}
		if err := rest(ctx, deferPause); err != nil {
			return err
		}
	}
	return order.ErrBusy
}

// tryOnce makes the order inside the user's lock, and reports whether the lock was free.
func (m deferMaker) tryOnce(ctx context.Context, sale coupon.Coupon, o order.Order) (locked bool, err error) {
	l := m.lockOf(o)
	defer l.remove(ctx) // one line too high
	if locked, err = l.try(ctx, 10*time.Second); !locked || err != nil {
		return false, err
	}
	return true, m.sell(ctx, sale, o)
}

// sell counts the user's orders, and sells if there are too few. It is correct for one caller at a time. Both
// designs with a faulty lock use it.
func (s *stores) sell(ctx context.Context, sale coupon.Coupon, o order.Order) error {
	bought, err := countOrders(ctx, s.DB, o)
	if err != nil {
		return err
	}
	if bought >= sale.LimitPerUser {
		return order.ErrLimitReached
	}
	return s.inTx(ctx, func(tx *sql.Tx) error {
		if err := insert(ctx, tx, o, noSlot(o)); err != nil {
			return err
		}
		return takeUnit(ctx, tx, sale.ID)
	})
}
