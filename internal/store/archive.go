package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// Archived is what became of some rows.
type Archived struct {
	Orders int64 // moved to orders_archive
	Voids  int64 // deleted: their sale is over, and nothing has to be kept from being sold
	Fences int64 // deleted, of users without other orders

	Entrants int64 // deleted
}

// Archivable lists up to limit coupons behind after, by id, that ended at before or
// earlier, whose shards are freed and of which no unit is owed to them.
func (c Coupons) Archivable(ctx context.Context, before time.Time, after int64, limit int) ([]coupon.Coupon, error) {
	return c.coupons(c.s.bulk.WithContext(ctx).Where("id > ? AND epoch > 0 AND shards = 0 AND ends_at <= ?", after, dbTime(before)).
		Where("NOT EXISTS (SELECT 1 FROM stock_returns AS r WHERE r.coupon_id = coupons.id)").
		Limit(limit))
}

// Archive moves up to most orders of an ended coupon to orders_archive, in one short
// transaction, and deletes the void ones; one that waits for its payment stays. The fences
// of users without other orders go after it, if they are older than before: a lock
// that was given one has long ended. Nothing is left to archive when the result is zero.
func (s *Store) Archive(ctx context.Context, couponID int64, before time.Time, most int) (Archived, error) {
	var done Archived
	var users []int64
	err := s.inUpdateTx(ctx, func(ctx context.Context, db *gorm.DB) error {
		done, users = Archived{}, nil
		if err := endSale(ctx, db, couponID, before); err != nil {
			return err
		}
		var err error
		if done.Entrants, err = deleteTickets(ctx, db, couponID, most); err != nil {
			return err
		}
		var rows []orderRow
		err = db.WithContext(ctx).Table(archiveSourceTable[s.dialect]).
			Clauses(clause.Locking{Strength: clause.LockingStrengthUpdate}).
			Where("coupon_id = ? AND status <> ?", couponID, order.Pending).Order("user_id").Limit(most).Find(&rows).Error
		if err != nil || len(rows) == 0 {
			return wrap(err, "read orders of coupon %d", couponID)
		}
		args := make([]any, 0, 2*len(rows))
		for _, r := range rows {
			args, users = append(args, r.ID, r.UserID), append(users, r.UserID)
		}
		moved := db.WithContext(ctx).Exec("INSERT INTO orders_archive ("+orderColumns+") SELECT "+orderColumns+
			" FROM "+orderByID.rows(s.dialect, len(rows))+" WHERE status <> '"+string(order.Void)+"'", args...)
		if moved.Error != nil {
			return fmt.Errorf("archive orders of coupon %d: %w", couponID, moved.Error)
		}
		if err := db.WithContext(ctx).Exec(orderByID.deleteSQL(s.dialect, len(rows)), args...).Error; err != nil {
			return fmt.Errorf("delete archived orders of coupon %d: %w", couponID, err)
		}
		done.Orders, done.Voids = moved.RowsAffected, int64(len(rows))-moved.RowsAffected
		return nil
	})
	if err != nil || len(users) == 0 {
		return done, err
	}
	done.Fences, err = s.deleteFences(ctx, slices.Compact(users), before)
	return done, err
}

// endSale keeps a sale that only the clock has ended from being given another end: its
// users' orders will not be found any more.
func endSale(ctx context.Context, db *gorm.DB, couponID int64, before time.Time) error {
	res := db.WithContext(ctx).Model(&couponRow{}).Where("id = ? AND shards = 0 AND ends_at <= ?", couponID, dbTime(before)).
		UpdateColumn("state", coupon.Ended)
	if res.Error != nil {
		return fmt.Errorf("end coupon %d: %w", couponID, res.Error)
	}
	if res.RowsAffected == 0 {
		return fmt.Errorf("%w: coupon %d is not ended and freed", coupon.ErrConflict, couponID)
	}
	return nil
}

// archiveSourceTable is the table of orders, read by the index that has a coupon's orders.
var archiveSourceTable = map[dialect]string{mysqlDialect: "orders FORCE INDEX (orders_slot)", sqliteDialect: "orders"}

// deleteFences deletes the fences of users who have no orders. A fence is the time in
// microseconds, or less, of its lock; the next one of the user will be larger.
func (s *Store) deleteFences(ctx context.Context, users []int64, before time.Time) (n int64, err error) {
	err = s.inUpdateTx(ctx, func(ctx context.Context, db *gorm.DB) error {
		res := db.WithContext(ctx).Where("user_id IN ? AND fence < ?", users, before.UnixMicro()).
			Where("NOT EXISTS (SELECT 1 FROM orders AS o WHERE o.user_id = fences.user_id)").Delete(&fenceRow{})
		n = res.RowsAffected
		return wrap(res.Error, "delete the fences of %d users", len(users))
	})
	return n, err
}

// Archived reads an archived order of the user, or order.ErrNotFound.
func (s *Store) Archived(ctx context.Context, id, userID int64) (order.Order, error) {
	var row orderRow
	err := s.read.WithContext(ctx).Table("orders_archive").Take(&row, "id = ? AND user_id = ?", id, userID).Error
	if errors.Is(err, gorm.ErrRecordNotFound) || errors.Is(err, sql.ErrNoRows) {
		return order.Order{}, order.ErrNotFound
	}
	return row.order(), wrap(err, "read an archived order")
}
