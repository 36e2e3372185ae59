package designs

import (
	"context"
	"fmt"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// naive is the first version of nearly every tutorial. It has no lock and no transaction.
//
// Wrong: the stock is read, compared in the program and written back. Two requests that read the same stock both sell,
// and the second write erases the first (a lost update). The count of the user's orders has the same gap: of two
// requests of one user, neither sees the order of the other.
//
// Tutorials show these steps first and correct them afterwards. The manual of MySQL shows the gap: in "Locking Reads",
// a plain SELECT before an UPDATE does not give enough protection.
//
// The experiment read-before-lock of the lab shows the same gap step by step.
var naive = Design{
	Name: "naive", Violates: "I2", Experiment: "read-before-lock",
	Source: "https://dev.mysql.com/doc/refman/8.4/en/innodb-locking-reads.html",
	make:   func(s *stores) maker { return naiveMaker{s} },
}

type naiveMaker struct{ *stores }

// Make reads the stock and the user's orders, decides, and writes both.
func (m naiveMaker) Make(ctx context.Context, sale coupon.Coupon, o order.Order) error {
	var stock int64
	err := m.DB.QueryRowContext(ctx, "SELECT stock FROM coupons WHERE id = ?", sale.ID).Scan(&stock)
	if err != nil {
		return fmt.Errorf("read the stock: %w", err)
	}
	if stock <= 0 {
		return coupon.ErrSoldOut
	}
	bought, err := countOrders(ctx, m.DB, o)
	if err != nil {
		return err
	}
	if bought >= sale.LimitPerUser {
		return order.ErrLimitReached
	}

	// Other requests have passed the same checks by now.
	if _, err := m.DB.ExecContext(ctx, "UPDATE coupons SET stock = ? WHERE id = ?", stock-1, sale.ID); err != nil {
		return fmt.Errorf("write the stock: %w", err)
	}
	return insert(ctx, m.DB, o, noSlot(o))
}
