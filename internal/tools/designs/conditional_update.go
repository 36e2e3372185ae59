package designs

import (
	"context"
	"database/sql"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// conditionalUpdate lets the database compare and write in one statement, with a unique key for the user.
//
// Right: UPDATE … SET stock = stock - 1 WHERE stock > 0 locks the row, compares the current value and writes. No
// request can come between. The unique key (coupon, user, slot) rejects a second order of the user. Both statements are
// in one transaction, so a request that loses one of them leaves nothing.
//
// The order of the statements matters. The coupon's row is hot, so it comes last: it is locked for one statement and
// one commit. READ COMMITTED avoids the gap locks of the insert.
//
// Its cost is the hot row: one commit at a time passes through it.
//
// This is the usual advice against overselling in a database. The manual of MySQL gives the same statement for a
// counter, in "Locking Reads". The experiments hot-row-last and hot-key of the lab show the order and the cost.
var conditionalUpdate = Design{
	Name: "conditional-update", Experiment: "hot-row-last",
	Source: "https://dev.mysql.com/doc/refman/8.4/en/innodb-locking-reads.html",
	make:   func(s *stores) maker { return conditionalMaker{s} },
}

type conditionalMaker struct{ *stores }

// Make inserts the order and takes the unit.
func (m conditionalMaker) Make(ctx context.Context, sale coupon.Coupon, o order.Order) error {
	return m.inTx(ctx, func(tx *sql.Tx) error {
		if err := insertNext(ctx, tx, sale, o); err != nil {
			return err
		}
		return takeUnit(ctx, tx, sale.ID)
	})
}
