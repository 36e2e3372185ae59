package designs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// skipLocked has one row per unit, and takes any row that no other transaction has locked.
//
// Right: FOR UPDATE SKIP LOCKED returns a free row without a wait. Buyers do not queue behind one row, and no unit has
// two buyers, because the row is locked until the commit. The unique key (coupon, user, slot) rejects a second order of
// the user.
//
// A unit is deleted when it is sold, so the rows that are left are the stock. Requests start at a random unit, because
// from the start of the table each of them would first skip the rows of all others. That no free row is found does not
// mean that none is left: a transaction in progress may roll back. So the design looks again without a lock before it
// answers sold out.
//
// Its cost is the rows: one insert per unit before the sale and one delete per order. Units that come back go to the
// coupon's row, as for every design, and are sold from there.
//
// The MySQL team recommends it for tickets and hot rows. MariaDB has it since 10.6. The experiment hot-key of the lab
// shows the contention that it avoids.
var skipLocked = Design{
	Name: "skip-locked", Experiment: "hot-key",
	Source:  "https://dev.mysql.com/blog-archive/mysql-8-0-1-using-skip-locked-and-nowait-to-handle-hot-rows/",
	Servers: "the embedded database has no SKIP LOCKED",
	make:    func(s *stores) maker { return skipMaker{s} },
}

type skipMaker struct{ *stores }

// errAllLocked: other transactions have locked all units that are left.
var errAllLocked = errors.New("designs: every unit is locked")

// Start creates the table of the units.
func (m skipMaker) Start(ctx context.Context) error {
	_, err := m.DB.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS design_units "+
		"(coupon_id BIGINT NOT NULL, unit BIGINT NOT NULL, PRIMARY KEY (coupon_id, unit)) ENGINE = InnoDB")
	if err != nil {
		return fmt.Errorf("create the table of the units: %w", err)
	}
	return nil
}

// unitsPerInsert is how many units one statement inserts.
const unitsPerInsert = 5000

// Prepare moves the units of the coupon's row into rows of their own.
func (m skipMaker) Prepare(ctx context.Context, couponID int64) error {
	return m.inTx(ctx, func(tx *sql.Tx) error {
		var units, last int64
		err := tx.QueryRowContext(ctx, "SELECT stock FROM coupons WHERE id = ? FOR UPDATE", couponID).Scan(&units)
		if err == nil {
			err = tx.QueryRowContext(ctx, "SELECT COALESCE(MAX(unit), 0) FROM design_units WHERE coupon_id = ?", couponID).Scan(&last)
		}
		for done := int64(0); err == nil && done < units; done += unitsPerInsert {
			n := min(unitsPerInsert, units-done)
			args := make([]any, 0, 2*n)
			for i := range n {
				args = append(args, couponID, last+done+i+1)
			}
			rows := strings.TrimPrefix(strings.Repeat(", (?, ?)", int(n)), ", ")
			insert := "INSERT INTO design_units (coupon_id, unit) VALUES " + rows //nolint:gosec // rows has placeholders only
			_, err = tx.ExecContext(ctx, insert, args...)
		}
		if err == nil {
			_, err = tx.ExecContext(ctx, "UPDATE coupons SET stock = stock - ? WHERE id = ?", units, couponID)
		}
		if err != nil {
			return fmt.Errorf("prepare the units of coupon %d: %w", couponID, err)
		}
		return nil
	})
}

// Units counts the units that are left.
func (m skipMaker) Units(ctx context.Context, couponID int64) (int64, error) {
	return countUnits(ctx, m.DB, couponID)
}

func countUnits(ctx context.Context, q querier, couponID int64) (n int64, err error) {
	err = q.QueryRowContext(ctx, "SELECT COUNT(*) FROM design_units WHERE coupon_id = ?", couponID).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count the units: %w", err)
	}
	return n, nil
}

// Make takes a unit and inserts the order, and waits while all units that are left are locked.
func (m skipMaker) Make(ctx context.Context, sale coupon.Coupon, o order.Order) error {
	for {
		err := m.inTx(ctx, func(tx *sql.Tx) error {
			if err := m.take(ctx, tx, sale); err != nil {
				return err
			}
			return insertNext(ctx, tx, sale, o)
		})
		if !errors.Is(err, errAllLocked) {
			return err
		}
		if err := rest(ctx, rand.N(5*time.Millisecond)); err != nil { //nolint:gosec // jitter
			return err
		}
	}
}

// take takes a unit: from a random one on, then from the first, then one that came back to the coupon's row.
func (m skipMaker) take(ctx context.Context, tx *sql.Tx, sale coupon.Coupon) error {
	for _, from := range []int64{rand.Int64N(sale.Total) + 1, 0} { //nolint:gosec // any unit will do
		var unit int64
		err := tx.QueryRowContext(ctx, "SELECT unit FROM design_units WHERE coupon_id = ? AND unit >= ? "+
			"ORDER BY unit LIMIT 1 FOR UPDATE SKIP LOCKED", sale.ID, from).Scan(&unit)
		switch {
		case err == nil:
			return changeOne(ctx, tx, errAllLocked, "DELETE FROM design_units WHERE coupon_id = ? AND unit = ?", sale.ID, unit)
		case !errors.Is(err, sql.ErrNoRows):
			return fmt.Errorf("take a unit: %w", err)
		}
	}
	err := takeUnit(ctx, tx, sale.ID)
	if !errors.Is(err, coupon.ErrSoldOut) {
		return err
	}
	if left, err := countUnits(ctx, tx, sale.ID); err != nil || left > 0 {
		return errors.Join(err, errAllLocked)
	}
	return coupon.ErrSoldOut
}
