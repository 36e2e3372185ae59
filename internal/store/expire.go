package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"seckill/internal/coupon"
	"seckill/internal/order"
)

// overdueTable keeps the planner from locking rows on the way to others.
var overdueTable = map[dialect]string{mysqlDialect: "orders FORCE INDEX (orders_due)", sqliteDialect: "orders"}

// Expire moves overdue orders and frees their slots. Their rows are locked when they are
// found, so that a payment or cancellation of one of them waits and then finds that it is
// too late, and another instance that expires orders takes others. On SQLite, which drops the
// locking clause, the transaction as a whole is alone.
func (t tx) Expire(ctx context.Context, now time.Time, skip, most int) ([]order.Order, error) {
	db := t.db.WithContext(ctx)
	var rows []orderRow
	err := db.Table(overdueTable[dialect(db.Name())]).
		Clauses(clause.Locking{Strength: clause.LockingStrengthUpdate, Options: clause.LockingOptionsSkipLocked}).
		Where("status = ? AND expires_at <= ?", order.Pending, dbTime(now)).
		Order("expires_at").Offset(skip).Limit(most).Find(&rows).Error
	if err != nil || len(rows) == 0 {
		return nil, wrap(err, "lock overdue orders")
	}
	args := make([]any, 0, 2*len(rows))
	for _, r := range rows {
		args = append(args, r.ID, r.UserID)
	}
	res := db.Exec(orderByID.updateSQL(dialect(db.Name()), "status = '"+string(order.Expired)+"', slot = NULL", len(rows)), args...)
	if res.Error != nil {
		return nil, fmt.Errorf("expire %d orders: %w", len(rows), res.Error)
	}
	if res.RowsAffected != int64(len(rows)) {
		return nil, fmt.Errorf("%w: %d of %d overdue orders were there", errRetry, res.RowsAffected, len(rows))
	}
	for i := range rows {
		rows[i].Status, rows[i].Slot = order.Expired, nil
	}
	return ordersOf(rows), nil
}

// restockSQL returns to each coupon what is given of it, w (coupon, units). The rows are
// locked one by one in the order of w.
var restockSQL = map[dialect]func(w string) string{
	mysqlDialect: func(w string) string {
		return "UPDATE " + w + " STRAIGHT_JOIN coupons AS c FORCE INDEX (PRIMARY) ON c.id = w.column1" +
			" SET c.stock = c.stock + w.column2"
	},
	sqliteDialect: func(w string) string {
		return "UPDATE coupons AS c SET stock = c.stock + w.column2 FROM " + w + " WHERE c.id = w.column1"
	},
}

// Restock raises the stocks and writes the rows of the outbox. The coupons' rows are
// locked first, because the epoch that a unit belongs to is read under that lock.
func (t tx) Restock(ctx context.Context, of ...order.Order) ([]order.Restock, error) {
	if len(of) == 0 {
		return nil, nil
	}
	coupons, err := t.restockCoupons(ctx, of)
	if err != nil {
		return nil, err
	}
	rows := make([]returnRow, len(of))
	back := make([]order.Restock, len(of))
	for i, o := range of {
		c := coupons[o.CouponID]
		rows[i] = returnRow{
			OrderID: o.ID, CouponID: o.CouponID, UserID: o.UserID, Shard: o.Shard, Epoch: c.Epoch, Shards: c.Shards,
		}
		back[i] = order.Restock(rows[i])
	}
	if err := t.db.WithContext(ctx).Create(&rows).Error; err != nil {
		return nil, fmt.Errorf("give back %d orders: %w", len(of), err)
	}
	return back, nil
}

// restockCoupons raises the stocks of the orders' coupons and reads their rows.
func (t tx) restockCoupons(ctx context.Context, of []order.Order) (map[int64]couponRow, error) {
	units := map[int64]int{}
	for _, o := range of {
		units[o.CouponID]++
	}
	ids := make([]int64, 0, len(units))
	for id := range units {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, cmp.Compare)
	args := make([]any, 0, 2*len(ids))
	for _, id := range ids {
		args = append(args, id, units[id])
	}
	db := t.db.WithContext(ctx)
	d := dialect(db.Name())
	if err := db.Exec(restockSQL[d](valuesTable(d, len(ids), 2)), args...).Error; err != nil {
		return nil, fmt.Errorf("give back to %d coupons: %w", len(ids), err)
	}
	var rows []couponRow
	if err := db.Where("id IN ?", ids).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read %d coupons: %w", len(ids), err)
	}
	found := make(map[int64]couponRow, len(rows))
	for _, r := range rows {
		found[r.ID] = r
	}
	if len(found) < len(ids) {
		return nil, fmt.Errorf("%w: %w: one of %v", coupon.ErrNotFound, gorm.ErrRecordNotFound, ids)
	}
	return found, nil
}
