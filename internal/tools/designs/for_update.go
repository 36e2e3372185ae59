package designs

import (
	"context"
	"database/sql"
	"fmt"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// forUpdate locks the coupon's row first (pessimistic lock).
//
// Right: SELECT … FOR UPDATE lets one transaction at a time pass for each coupon. It reads the latest value, decides in
// the program, and writes. The unique key (coupon, user, slot) is a second defence.
//
// Its cost is the time for which the row is locked: the whole transaction, with every round trip in it. So the
// orders of one coupon commit one after the other. More connections only wait.
//
// READ COMMITTED and a lock by the primary key avoid gap locks. The experiment for-update-missing-row shows the gap
// lock, and the experiment hot-row-last of the lab shows the cost of an early lock of the hot row.
//
// The manual of MySQL recommends the statement for a counter that is read and then updated, in "Locking Reads".
var forUpdate = Design{
	Name: "for-update", Experiment: "hot-row-last",
	Source:  "https://dev.mysql.com/doc/refman/8.4/en/innodb-locking-reads.html",
	Servers: "the embedded database has no SELECT … FOR UPDATE",
	make:    func(s *stores) maker { return forUpdateMaker{s} },
}

type forUpdateMaker struct{ *stores }

// Make locks the coupon, checks, inserts the order and lowers the stock.
func (m forUpdateMaker) Make(ctx context.Context, sale coupon.Coupon, o order.Order) error {
	return m.inTx(ctx, func(tx *sql.Tx) error {
		var stock int64
		err := tx.QueryRowContext(ctx, "SELECT stock FROM coupons WHERE id = ? FOR UPDATE", sale.ID).Scan(&stock)
		if err != nil {
			return fmt.Errorf("lock the coupon: %w", err)
		}
		if stock <= 0 {
			return coupon.ErrSoldOut
		}
		if err := insertNext(ctx, tx, sale, o); err != nil {
			return err
		}
		return changeOne(ctx, tx, coupon.ErrNotFound, "UPDATE coupons SET stock = ? WHERE id = ?", stock-1, sale.ID)
	})
}
