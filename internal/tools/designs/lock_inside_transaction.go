package designs

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// lockInsideTransaction locks the user correctly, and releases the lock before the transaction commits.
//
// Wrong: the second request of the user gets the lock as soon as it is released. It counts the orders, and does not see
// the order that is not committed yet. So the user buys twice. The stock is right, because the conditional update
// decides about it.
//
//	BEGIN ─▶ lock ─▶ count ─▶ insert ─▶ take a unit ─▶ unlock ─▶ (the second request counts here) ─▶ COMMIT
//
// In Spring the fault has this form: a method with @Transactional locks and unlocks inside. The framework commits when
// the method has returned, after the unlock. Spring's manual says where a transaction begins and ends.
//
// The experiment unlock-before-commit of the lab shows it step by step.
var lockInsideTransaction = Design{
	Name: "lock-inside-transaction", Violates: "I3", Experiment: "unlock-before-commit",
	Source:  "https://docs.spring.io/spring-framework/reference/data-access/transaction/declarative/tx-decl-explained.html",
	Servers: "the embedded database runs one transaction at a time, which hides the fault",
	make:    func(s *stores) maker { return insideMaker{s} },
}

type insideMaker struct{ *stores }

// Make does everything in one transaction, the lock included.
func (m insideMaker) Make(ctx context.Context, sale coupon.Coupon, o order.Order) error {
	return m.inTx(ctx, func(tx *sql.Tx) (err error) {
		l := m.lockOf(o)
		if err := l.lock(ctx, 10*time.Second); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, l.unlock(ctx)) }() // before the commit, which is the caller's
		bought, err := countOrders(ctx, tx, o)
		if err != nil {
			return err
		}
		if bought >= sale.LimitPerUser {
			return order.ErrLimitReached
		}
		if err := insert(ctx, tx, o, noSlot(o)); err != nil {
			return err
		}
		return takeUnit(ctx, tx, sale.ID)
	})
}
