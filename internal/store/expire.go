package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// overdueTable keeps the planner from locking rows on the way to others.
var overdueTable = map[dialect]string{mysqlDialect: "orders FORCE INDEX (orders_due)", sqliteDialect: "orders"}

// Expire moves overdue orders and frees their slots. The query locks their rows. So a payment
// or cancellation of one of them waits and then finds that it is too late, and another
// instance that expires orders takes others. SQLite drops the locking clause. There no other
// transaction runs at the same time.
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

// Restock raises the stocks and writes the rows of the outbox. The epoch that a unit belongs to is
// read without a lock, and the stock is raised on condition that it still is the coupon's.
func (t tx) Restock(ctx context.Context, of ...order.Order) ([]order.Restock, error) {
	if len(of) == 0 {
		return nil, nil
	}
	coupons, err := t.couponsOf(ctx, of)
	if err != nil {
		return nil, err
	}
	rows := make([]returnRow, len(of))
	back := make([]order.Restock, len(of))
	units := map[stockKey]int{}
	for i, o := range of {
		c := coupons[o.CouponID]
		rows[i] = returnRow{
			OrderID: o.ID, CouponID: o.CouponID, UserID: o.UserID, Shard: o.Shard, Epoch: c.Epoch, Shards: c.Shards,
		}
		back[i] = order.Restock(rows[i])
		units[stockKey{c.ID, c.Epoch}]++
	}
	if err := t.addStock(ctx, sortedDemands(units)); err != nil {
		return nil, err
	}
	if err := t.db.WithContext(ctx).Create(&rows).Error; err != nil {
		return nil, fmt.Errorf("give back %d orders: %w", len(of), err)
	}
	return back, nil
}

// couponsOf reads the coupons of orders.
func (t tx) couponsOf(ctx context.Context, of []order.Order) (map[int64]couponRow, error) {
	ids := make([]int64, len(of))
	for i, o := range of {
		ids[i] = o.CouponID
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	var rows []couponRow
	if err := t.db.WithContext(ctx).Where("id IN ?", ids).Find(&rows).Error; err != nil {
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

// addStock raises the stock of coupons. It fails with errRetry if one has another epoch by now.
func (t tx) addStock(ctx context.Context, lots []demand) error {
	db := t.db.WithContext(ctx)
	s := updateStock(dialect(db.Name()), lots, plusUnits, sameEpoch)
	res := db.Exec(s.sql, s.args...)
	if res.Error != nil {
		return fmt.Errorf("give back to %d coupons: %w", len(lots), res.Error)
	}
	if res.RowsAffected < int64(len(lots)) {
		return fmt.Errorf("%w: an epoch has ended just now", errRetry)
	}
	return nil
}
