package store

import (
	"context"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// Ledger has the figures of a sale in the database, at one moment.
type Ledger struct {
	Units     int64 // on sale
	Unsold    int64 // not sold
	Returning int64 `gorm:"column:returning_units"` // of Unsold: the outbox owes them to the shards
}

// Ledger reads the ledger of a coupon; coupon.ErrNotFound if there is none. It is one statement, so that stock and
// outbox are of one moment. A return of an earlier epoch owes no shard a unit.
func (s *Store) Ledger(ctx context.Context, couponID int64) (Ledger, error) {
	var rows []Ledger
	err := s.read.WithContext(ctx).Raw(`SELECT total AS units, stock AS unsold,
		(SELECT COUNT(*) FROM stock_returns AS r WHERE r.coupon_id = coupons.id AND r.epoch = coupons.epoch) AS returning_units
		FROM coupons WHERE id = ?`, couponID).Scan(&rows).Error
	switch {
	case err != nil:
		return Ledger{}, wrap(err, "read the ledger of coupon %d", couponID)
	case len(rows) == 0:
		return Ledger{}, coupon.ErrNotFound
	}
	return rows[0], nil
}

// OrderNumber returns how many orders of a coupon have ids up to the given one. Ids grow with the time, so the order is
// the n-th of its coupon. It reads one index entry and one row per order of the coupon.
func (s *Store) OrderNumber(ctx context.Context, couponID, orderID int64) (n int64, err error) {
	err = s.read.WithContext(ctx).Model(&orderRow{}).
		Where("coupon_id = ? AND id <= ? AND status <> ?", couponID, orderID, order.Void).Count(&n).Error
	return n, wrap(err, "count the orders of coupon %d", couponID)
}
