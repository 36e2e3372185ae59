package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"time"

	"gorm.io/gorm"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/lottery"
	"example.com/seckill/internal/order"
)

// Snapshot is the data of a coupon in the database, all of it at one moment. It is read a
// page at a time, so that its memory, and the time of each of its statements, do not grow
// with the sale.
type Snapshot interface {
	// Coupon is the coupon.
	Coupon() coupon.Coupon
	// Orders reads all orders, those of a user together, and counts them.
	Orders(ctx context.Context, page func(context.Context, []SnapshotOrder) error) (Totals, error)
	// Outbox reads the outbox.
	Outbox(ctx context.Context, page func(context.Context, []order.Restock) error) error
	// OrdersByRequest returns what became of some requests, whatever coupon they were for: id,
	// user, coupon and status. One that has no row is left out.
	OrdersByRequest(ctx context.Context, requests []string) (map[string]order.Order, error)
	// Draw returns the coupon's draw, if there is one that has ended and still has its tickets, and reads them.
	Draw(ctx context.Context, page func([]lottery.Entrant)) (lottery.Draw, bool, error)
}

// SnapshotOrder is an order of a Snapshot. It has no prices and times.
type SnapshotOrder struct {
	order.Order
	Owed  bool  // the outbox has its unit,
	Epoch int64 // for this epoch
}

// Totals are the sums of a Snapshot.
type Totals struct {
	Live      int64                  // orders that have a unit
	Orders    int64                  // orders ever committed
	Voids     int64                  // requests that were given up
	Users     int64                  // that have live orders
	OverLimit int64                  // live orders above their users' limit
	SameID    int64                  // orders that share their id or request id with another, and twice if both
	BadState  int64                  // orders whose state, slot and outbox contradict each other
	Stale     int64                  // orders written under a fence larger than their user's
	ByStatus  map[order.Status]int64 // orders by status
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

// ReadSnapshot opens the Snapshot of a coupon, in one transaction with one snapshot on a
// connection of the pool for long reads, while read is at work.
func (s *Store) ReadSnapshot(ctx context.Context, couponID int64, read func(context.Context, Snapshot) error) error {
	o := &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}
	if s.dialect == sqliteDialect {
		o = &sql.TxOptions{} // a reader of SQLite has one snapshot anyway
	}
	begun := s.bulk.WithContext(ctx).Begin(o)
	if begun.Error != nil {
		return wrap(begun.Error, "begin to read the books of coupon %d", couponID)
	}
	defer begun.Rollback() // nothing was written
	l, err := openSnapshot(ctx, begun, s.dialect, couponID)
	if err == nil {
		err = read(ctx, l)
	}
	return wrap(err, "read the books of coupon %d", couponID)
}

type snapshot struct {
	db      *gorm.DB
	dialect dialect
	coupon  coupon.Coupon
}

func openSnapshot(ctx context.Context, db *gorm.DB, d dialect, couponID int64) (*snapshot, error) {
	row, err := readCoupon(db.WithContext(ctx), couponID)
	return &snapshot{db: db, dialect: d, coupon: row.coupon()}, err
}

// Coupon is Snapshot's.
func (l *snapshot) Coupon() coupon.Coupon { return l.coupon }

const (
	// snapshotPageRows is about how many rows a statement of a Snapshot reads, and pageTimeout
	// bounds its time.
	snapshotPageRows = 2000
	pageTimeout      = 30 * time.Second
)

// couponOrderTables are the tables of orders, each read by the index that has a coupon's orders by
// user: those of running sales, and those that were archived.
var couponOrderTables = map[dialect][]string{
	mysqlDialect:  {"orders AS o FORCE INDEX (orders_slot)", archiveTable},
	sqliteDialect: {"orders AS o", archiveTable},
}

const archiveTable = "orders_archive AS o"

// Orders is Snapshot's. A page ends with the last order of a user.
func (l *snapshot) Orders(ctx context.Context, page func(context.Context, []SnapshotOrder) error) (Totals, error) {
	count := newTotalsCounter(l.coupon)
	for _, table := range couponOrderTables[l.dialect] {
		if err := l.readPages(ctx, count, table, page); err != nil {
			return Totals{}, err
		}
	}
	return count.Totals, nil
}

func (l *snapshot) readPages(
	ctx context.Context, count *totalsCounter, table string, page func(context.Context, []SnapshotOrder) error,
) error {
	for after, more := int64(math.MinInt64), true; more; {
		var to int64
		var rows []SnapshotOrder
		err := withPageTimeout(ctx, func(ctx context.Context) (err error) {
			if to, more, err = l.pageEnd(ctx, table, after); err == nil {
				rows, err = l.readPage(ctx, count, table, after, to)
			}
			return err
		})
		if err == nil {
			err = l.confirmDuplicates(ctx, count, !more)
		}
		if err == nil {
			err = page(ctx, rows)
		}
		if err != nil {
			return err
		}
		after = to
	}
	return nil
}

// withPageTimeout bounds the time of a page.
func withPageTimeout(ctx context.Context, read func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, pageTimeout)
	defer cancel()
	return read(ctx)
}

// pageEnd finds the last user of the page behind a user; more reports whether
// there may be others behind it.
func (l *snapshot) pageEnd(ctx context.Context, table string, after int64) (to int64, more bool, err error) {
	err = l.db.WithContext(ctx).Raw("SELECT o.user_id FROM "+table+
		" WHERE o.coupon_id = ? AND o.user_id > ? ORDER BY o.user_id LIMIT 1 OFFSET ?",
		l.coupon.ID, after, snapshotPageRows-1).Row().Scan(&to)
	if errors.Is(err, sql.ErrNoRows) {
		return math.MaxInt64, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("the users behind %d: %w", after, err)
	}
	return to, true, nil
}

// readPage reads and counts the orders of the users behind one up to another.
func (l *snapshot) readPage(ctx context.Context, count *totalsCounter, table string, after, to int64) ([]SnapshotOrder, error) {
	rows, err := l.db.WithContext(ctx).Raw(`
		SELECT o.id, o.user_id, o.slot, o.status, o.request_id, o.shard, o.fence, f.fence, r.epoch FROM `+table+`
		LEFT JOIN fences AS f ON f.user_id = o.user_id
		LEFT JOIN stock_returns AS r ON r.order_id = o.id AND r.user_id = o.user_id
		WHERE o.coupon_id = ? AND o.user_id > ? AND o.user_id <= ? ORDER BY o.user_id`, l.coupon.ID, after, to).Rows()
	if err != nil {
		return nil, fmt.Errorf("the orders of the users behind %d: %w", after, err)
	}
	defer rows.Close() //nolint:errcheck // Err tells
	all := make([]SnapshotOrder, 0, snapshotPageRows)
	for rows.Next() {
		b := SnapshotOrder{Order: order.Order{CouponID: l.coupon.ID}}
		var slot, owed sql.NullInt64
		var fence sql.Null[uint64]
		err := rows.Scan(&b.ID, &b.UserID, &slot, &b.Status, &b.RequestID, &b.Shard, &b.Fence, &fence, &owed)
		if err != nil {
			return nil, fmt.Errorf("an order behind user %d: %w", after, err)
		}
		b.Slot, b.Owed, b.Epoch = int(slot.Int64), owed.Valid, owed.Int64
		if table == archiveTable && !fence.Valid {
			fence = sql.Null[uint64]{V: b.Fence, Valid: true} // it went when the order was archived
		}
		count.add(b, slot.Valid, fence)
		all = append(all, b)
	}
	return all, rows.Err()
}

// Outbox is Snapshot's.
func (l *snapshot) Outbox(ctx context.Context, page func(context.Context, []order.Restock) error) error {
	for after, more := int64(math.MinInt64), true; more; {
		var rows []returnRow
		err := withPageTimeout(ctx, func(ctx context.Context) error {
			return l.db.WithContext(ctx).Where("coupon_id = ? AND order_id > ?", l.coupon.ID, after).
				Order("order_id").Limit(snapshotPageRows).Find(&rows).Error
		})
		if err != nil {
			return fmt.Errorf("the outbox: %w", err)
		}
		if more = len(rows) == snapshotPageRows; len(rows) == 0 {
			break
		}
		due := make([]order.Restock, len(rows))
		for i, r := range rows {
			due[i] = order.Restock(r)
		}
		after = due[len(due)-1].OrderID
		if err := page(ctx, due); err != nil {
			return err
		}
	}
	return nil
}

// OrdersByRequest is Snapshot's.
func (l *snapshot) OrdersByRequest(ctx context.Context, requests []string) (map[string]order.Order, error) {
	found := make(map[string]order.Order, len(requests))
	if len(requests) == 0 {
		return found, nil
	}
	var rows []orderRow
	err := withPageTimeout(ctx, func(ctx context.Context) error {
		return l.db.WithContext(ctx).Where("request_id IN ?", requests).
			Select("request_id", "id", "user_id", "status", "coupon_id").Find(&rows).Error
	})
	if err != nil {
		return nil, fmt.Errorf("what became of %d requests: %w", len(requests), err)
	}
	for _, r := range rows {
		found[r.RequestID] = r.order()
	}
	return found, nil
}

// Draw is Snapshot's.
func (l *snapshot) Draw(ctx context.Context, page func([]lottery.Entrant)) (lottery.Draw, bool, error) {
	var draws []drawRow
	err := l.db.WithContext(ctx).Where("coupon_id = ? AND ended_at IS NOT NULL AND NOT archived", l.coupon.ID).Find(&draws).Error
	if err != nil || len(draws) == 0 {
		return lottery.Draw{}, false, wrap(err, "the draw")
	}
	d, err := draws[0].draw()
	for after, more := int64(math.MinInt64), err == nil; more; {
		var rows []entrantRow
		var tickets []lottery.Entrant
		err = withPageTimeout(ctx, func(ctx context.Context) error {
			db := l.db.WithContext(ctx)
			read := db.Where("coupon_id = ? AND user_id > ?", l.coupon.ID, after).Order("user_id").Limit(snapshotPageRows).Find(&rows)
			if read.Error != nil || len(rows) == 0 {
				return read.Error
			}
			tickets, err = entrantsOf(db, l.dialect, l.coupon.ID, rows)
			return err
		})
		if err != nil {
			return d, false, fmt.Errorf("the tickets behind user %d: %w", after, err)
		}
		if more = len(rows) == snapshotPageRows; len(rows) > 0 {
			after = rows[len(rows)-1].UserID
			page(tickets)
		}
	}
	return d, true, err
}
