package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"

	"gorm.io/gorm"

	"seckill/internal/coupon"
	"seckill/internal/order"
)

// Books is what the database says of a coupon, all of it at one moment.
type Books struct {
	Coupon    coupon.Coupon
	Live      int64                  // orders that have a unit
	Orders    int64                  // orders ever committed
	Voids     int64                  // requests that were given up
	OverLimit int64                  // live orders above their users' limit
	SameID    int64                  // orders that share their id or request id with another, and twice if both
	BadState  int64                  // orders whose state, slot and outbox contradict each other
	Stale     int64                  // orders written under a fence larger than their user's
	Due       []order.Return         // the outbox
	Requests  map[string]order.Order // what became of the requests asked about: id, user, coupon and status
	ByStatus  map[order.Status]int64 // orders by status
	Buyers    map[int64]int64        // live orders by user
}

// Coupon reads a coupon as it is now, or coupon.ErrNotFound.
func (s *Store) Coupon(ctx context.Context, id int64) (coupon.Coupon, error) {
	found, err := s.Coupons().Find(ctx, id)
	switch {
	case err != nil:
		return coupon.Coupon{}, err
	case len(found) == 0:
		return coupon.Coupon{}, coupon.ErrNotFound
	}
	return found[0], nil
}

// Books reads them in one transaction with one snapshot. It also tells what became
// of the requests, whatever coupon they were for.
func (s *Store) Books(ctx context.Context, couponID int64, requests []string) (Books, error) {
	b := Books{Requests: map[string]order.Order{}, ByStatus: map[order.Status]int64{}}
	o := &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}
	if s.dialect == sqliteDialect {
		o = &sql.TxOptions{} // a reader of SQLite has one snapshot anyway
	}
	begun := s.read.WithContext(ctx).Begin(o)
	if begun.Error != nil {
		return b, wrap(begun.Error, "begin")
	}
	defer begun.Rollback() // nothing was written
	return b, wrap(b.read(begun, couponID, requests), "read the books of coupon %d", couponID)
}

func (b *Books) read(db *gorm.DB, couponID int64, requests []string) error {
	var row couponRow
	if err := db.Take(&row, "id = ?", couponID).Error; err != nil {
		if errors.Is(err, gorm.ErrRecordNotFound) {
			return coupon.ErrNotFound
		}
		return err
	}
	b.Coupon = row.coupon()
	if err := b.count(db); err != nil {
		return err
	}
	var buyers []struct{ UserID, N int64 }
	err := db.Model(&orderRow{}).Where("coupon_id = ? AND status IN ?", couponID, []order.Status{order.Pending, order.Paid}).
		Select("user_id, COUNT(*) AS n").Group("user_id").Scan(&buyers).Error
	if err != nil {
		return err
	}
	b.Buyers = make(map[int64]int64, len(buyers))
	for _, u := range buyers {
		b.Buyers[u.UserID] = u.N
	}
	var due []returnRow
	if err := db.Where("coupon_id = ?", couponID).Order("order_id").Find(&due).Error; err != nil {
		return err
	}
	for _, r := range due {
		b.Due = append(b.Due, order.Return(r))
	}
	return b.answers(db, requests)
}

// answers reads what became of the requests. The audit asks for all that the shards
// remember, so the coupon's rows are read one after the other, in a tenth of the time of
// looking each request up, and only those are looked up that led elsewhere.
func (b *Books) answers(db *gorm.DB, requests []string) error {
	if len(requests) == 0 {
		return nil
	}
	asked := make(map[string]bool, len(requests))
	for _, r := range requests {
		asked[r] = true
	}
	const what = "SELECT request_id, id, user_id, status, coupon_id FROM orders WHERE "
	read := func(where string, args ...any) error {
		rows, err := db.Raw(what+where, args...).Rows()
		if err != nil {
			return err //nolint:wrapcheck // Books says what for
		}
		defer rows.Close() //nolint:errcheck // Err tells
		var o order.Order
		for rows.Next() {
			if err := rows.Scan(&o.RequestID, &o.ID, &o.UserID, &o.Status, &o.CouponID); err != nil {
				return err //nolint:wrapcheck // the same
			}
			if asked[o.RequestID] {
				b.Requests[o.RequestID] = o
				delete(asked, o.RequestID)
			}
		}
		return rows.Err()
	}
	if err := read("coupon_id = ?", b.Coupon.ID); err != nil {
		return err
	}
	for some := range slices.Chunk(slices.Collect(maps.Keys(asked)), 500) {
		if err := read("request_id IN ?", some); err != nil {
			return err
		}
	}
	return nil
}

func (b *Books) count(db *gorm.DB) error {
	var by []struct {
		Status order.Status
		N      int64
	}
	id := b.Coupon.ID
	err := db.Model(&orderRow{}).Where("coupon_id = ?", id).Select("status, COUNT(*) AS n").Group("status").Scan(&by).Error
	if err != nil {
		return err
	}
	for _, s := range by {
		b.ByStatus[s.Status] = s.N
		if s.Status == order.Void {
			b.Voids = s.N
			continue
		}
		b.Orders += s.N
		if s.Status.Live() {
			b.Live += s.N
		}
	}
	for _, q := range []struct {
		to   *int64
		text string
		args []any
	}{
		{
			&b.OverLimit, `SELECT COALESCE(SUM(n - ?), 0) FROM (SELECT COUNT(*) AS n FROM orders
			WHERE coupon_id = ? AND status IN ('pending', 'paid') GROUP BY user_id HAVING COUNT(*) > ?) AS over_limit`,
			[]any{b.Coupon.LimitPerUser, id, b.Coupon.LimitPerUser},
		},
		{&b.SameID, `SELECT 2 * COUNT(*) - COUNT(DISTINCT request_id) - COUNT(DISTINCT id) FROM orders WHERE coupon_id = ?`, []any{id}},
		{&b.BadState, `SELECT COUNT(*) FROM orders AS o LEFT JOIN stock_returns AS r ON r.order_id = o.id AND r.user_id = o.user_id
			WHERE o.coupon_id = ? AND (
			o.status NOT IN ('pending', 'paid', 'cancelled', 'expired', 'void')
			OR (o.status IN ('pending', 'paid')) <> (o.slot IS NOT NULL)
			OR (r.order_id IS NOT NULL AND o.status NOT IN ('cancelled', 'expired')))`, []any{id}},
		{&b.Stale, `SELECT COUNT(*) FROM orders AS o LEFT JOIN fences AS f ON f.user_id = o.user_id
			WHERE o.coupon_id = ? AND o.status <> 'void' AND (f.fence IS NULL OR o.fence > f.fence)`, []any{id}},
	} {
		if err := db.Raw(q.text, q.args...).Scan(q.to).Error; err != nil {
			return fmt.Errorf("%s: %w", q.text[:40], err)
		}
	}
	return nil
}
