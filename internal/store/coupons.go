package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// Coupons is the part of the Store that keeps coupons: a coupon.Repository and a
// coupon.Loader.
type Coupons struct{ s *Store }

// Coupons returns that part.
func (s *Store) Coupons() Coupons { return Coupons{s} }

// Create stores a coupon and gives it its id.
func (c Coupons) Create(ctx context.Context, draft coupon.Coupon) (coupon.Coupon, error) {
	row := rowOfCoupon(draft)
	if err := c.s.write.WithContext(ctx).Create(&row).Error; err != nil {
		return coupon.Coupon{}, wrap(err, "create a coupon")
	}
	return row.coupon(), nil
}

// Find reads the coupons with these ids; an unknown one is left out.
func (c Coupons) Find(ctx context.Context, ids ...int64) ([]coupon.Coupon, error) {
	return c.coupons(c.s.read.WithContext(ctx).Where("id IN ?", ids))
}

// List reads up to limit coupons with an id above after, by id.
func (c Coupons) List(ctx context.Context, after int64, limit int) ([]coupon.Coupon, error) {
	return c.coupons(c.s.read.WithContext(ctx).Where("id > ?", after).Limit(limit))
}

// Announced reads up to limit coupons with an id above after, by id, without drafts.
func (c Coupons) Announced(ctx context.Context, after int64, limit int) ([]coupon.Coupon, error) {
	return c.coupons(c.s.read.WithContext(ctx).Where("id > ? AND state <> ?", after, coupon.Draft).Limit(limit))
}

// Newest returns the largest id of all coupons, or 0.
func (c Coupons) Newest(ctx context.Context) (int64, error) {
	var newest int64
	err := c.s.read.WithContext(ctx).Model(&couponRow{}).Select("COALESCE(MAX(id), 0)").Scan(&newest).Error
	return newest, wrap(err, "read the newest coupon")
}

// Freeable lists coupons that still have shards although at now they have ended so long ago,
// by id.
func (c Coupons) Freeable(ctx context.Context, now time.Time, limit int) ([]coupon.Coupon, error) {
	return c.coupons(c.s.read.WithContext(ctx).
		Where("shards > 0 AND epoch > 0 AND (ends_at <= ? OR state = ? AND ends_at > ?)",
			dbTime(now.Add(-coupon.Retention)), coupon.Ended, dbTime(now)).Limit(limit))
}

// readCoupon reads the row of a coupon with a query; coupon.ErrNotFound if there is none.
func readCoupon(q *gorm.DB, id int64) (row couponRow, err error) {
	if err = q.Take(&row, "id = ?", id).Error; errors.Is(err, gorm.ErrRecordNotFound) {
		return row, coupon.ErrNotFound
	}
	return row, wrap(err, "read coupon %d", id)
}

func (c Coupons) coupons(q *gorm.DB) ([]coupon.Coupon, error) {
	var rows []couponRow
	if err := q.Order("id").Find(&rows).Error; err != nil {
		return nil, wrap(err, "read coupons")
	}
	all := make([]coupon.Coupon, len(rows))
	for i, row := range rows {
		all[i] = row.coupon()
	}
	return all, nil
}

// Change alters a coupon while its row is locked. On SQLite, which drops the locking clause, no other transaction
// runs at the same time.
func (c Coupons) Change(ctx context.Context, id int64, change func(*coupon.Coupon) error) (coupon.Coupon, error) {
	var changed coupon.Coupon
	err := c.s.inUpdateTx(ctx, func(ctx context.Context, db *gorm.DB) error {
		row, err := readCoupon(db.WithContext(ctx).Clauses(clause.Locking{Strength: clause.LockingStrengthUpdate}), id)
		if err != nil {
			return err
		}
		changed = row.coupon()
		if err := change(&changed); err != nil {
			return err
		}
		row = rowOfCoupon(changed)
		changed = row.coupon()                                                          // as it will be read
		written := db.WithContext(ctx).Model(&row).Select("*").Omit("id").Updates(&row) //nolint:unqueryvet // zeros are written too
		return wrap(written.Error, "change coupon %d", id)
	})
	return changed, err
}

// inUpdateTx runs an administrator's change. The administrator may repeat it, so an unknown commit is an unavailable
// database.
func (s *Store) inUpdateTx(ctx context.Context, work func(ctx context.Context, db *gorm.DB) error) error {
	err := s.runTx(ctx, s.write, &sql.TxOptions{Isolation: s.isolation}, work)
	if errors.Is(err, order.ErrCommitUnknown) {
		return &unavailableError{CauseAway, err}
	}
	return err
}
