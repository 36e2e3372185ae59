package store

import (
	"context"
	"fmt"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"example.com/seckill/internal/coupon"
)

// stockRow is one row of coupon_stock. The units that are left of a coupon are in the coupon's own row, or in one
// row of coupon_stock per shard. With these rows, orders of one coupon wait for each other only if their units came
// from the same shard.
//
//	coupons       id 7, stock 0, stock_rows 2
//	coupon_stock  coupon 7, shard 0, epoch, stock 21
//	              coupon 7, shard 1, epoch, stock 20
//
// The rows belong to the coupon's epoch. Each action that ends an epoch merges the rows. It locks all of them, which
// excludes every order that is about to take a unit. Then the coupon's row has the units until the next epoch splits
// them. A transaction that locks rows of both tables locks the rows of coupons first.
type stockRow struct {
	CouponID int64 `gorm:"primaryKey;autoIncrement:false"`
	Shard    int   `gorm:"primaryKey;autoIncrement:false"`
	Epoch    int64
	Stock    int64
}

func (stockRow) TableName() string { return "coupon_stock" }

// couponColumns lists the columns of coupons, and the units in their rows of coupon_stock at the same moment.
const couponColumns = "coupons.*, " + rowsStockSQL + " AS rows_stock"

const rowsStockSQL = "COALESCE((SELECT SUM(s.stock) FROM coupon_stock AS s WHERE s.coupon_id = coupons.id), 0)"

// lockStockRows locks the stock rows of some coupons, and returns the number of units that each coupon has in them.
// The caller has already locked the coupons' own rows.
func lockStockRows(ctx context.Context, db *gorm.DB, coupons ...int64) (map[int64]int64, error) {
	var rows []stockRow
	err := db.WithContext(ctx).Clauses(clause.Locking{Strength: clause.LockingStrengthUpdate}).
		Where("coupon_id IN ?", coupons).Order("coupon_id, shard").Find(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("lock the stock of coupons %v: %w", coupons, err)
	}
	units := make(map[int64]int64, len(coupons))
	for _, r := range rows {
		units[r.CouponID] += r.Stock
	}
	return units, nil
}

// mergeStock moves all units of some coupons into the coupons' own rows. The caller has already locked these rows.
func mergeStock(ctx context.Context, db *gorm.DB, coupons ...int64) error {
	if len(coupons) == 0 {
		return nil
	}
	units, err := lockStockRows(ctx, db, coupons...)
	if err != nil {
		return err
	}
	for _, id := range coupons {
		merged := db.WithContext(ctx).Model(&couponRow{}).Where("id = ?", id).
			UpdateColumns(map[string]any{"stock": gorm.Expr("stock + ?", units[id]), "stock_rows": 0})
		if merged.Error != nil {
			return fmt.Errorf("merge the stock of coupon %d: %w", id, merged.Error)
		}
	}
	return deleteStockRows(ctx, db, coupons...)
}

func deleteStockRows(ctx context.Context, db *gorm.DB, coupons ...int64) error {
	err := db.WithContext(ctx).Where("coupon_id IN ?", coupons).Delete(&stockRow{}).Error
	return wrap(err, "delete the stock rows of coupons %v", coupons)
}

// splitStock moves all units of a coupon into one stock row per shard. The caller has locked the coupon's row.
func splitStock(ctx context.Context, db *gorm.DB, c *couponRow) error {
	rows := make([]stockRow, c.Shards)
	for shard := range rows {
		rows[shard] = stockRow{CouponID: c.ID, Shard: shard, Epoch: c.Epoch, Stock: coupon.Share(c.Stock, c.Shards, shard)}
	}
	if err := db.WithContext(ctx).Create(&rows).Error; err != nil {
		return fmt.Errorf("split the stock of coupon %d: %w", c.ID, err)
	}
	c.Stock, c.RowsStock, c.StockRows = 0, c.Stock, len(rows)
	err := db.WithContext(ctx).Model(&couponRow{}).Where("id = ?", c.ID).
		UpdateColumns(map[string]any{"stock": c.Stock, "stock_rows": c.StockRows}).Error
	return wrap(err, "split the stock of coupon %d", c.ID)
}

// raiseStockRows adds new units to the stock rows of a coupon. The caller has already locked the rows. Each shard has
// a share of the units that were added since the coupon's epoch started. The function returns the number of added
// units, or 0 if the coupon has no stock rows.
func raiseStockRows(ctx context.Context, db *gorm.DB, c coupon.Coupon, before int64) (added int64, err error) {
	if c.StockRows == 0 || c.Raised <= before {
		return 0, nil
	}
	units := map[stockKey]int{}
	for shard := range c.StockRows {
		if more := coupon.Share(c.Raised, c.StockRows, shard) - coupon.Share(before, c.StockRows, shard); more > 0 {
			units[stockKey{c.ID, c.Epoch, shard}] = int(more)
		}
	}
	return c.Raised - before, tx{db}.addStock(ctx, sortedDemands(units))
}

// Stock implements Snapshot.
func (l *snapshot) Stock(ctx context.Context) ([]int64, error) {
	var rows []stockRow
	err := l.db.WithContext(ctx).Where("coupon_id = ?", l.coupon.ID).Order("shard").Find(&rows).Error
	if err != nil || len(rows) == 0 {
		return nil, wrap(err, "the stock")
	}
	stock := make([]int64, l.coupon.StockRows)
	for _, r := range rows {
		if r.Shard >= len(stock) || r.Epoch != l.coupon.Epoch {
			return nil, fmt.Errorf("shard %d of epoch %d has a stock row; the coupon has %d of epoch %d",
				r.Shard, r.Epoch, len(stock), l.coupon.Epoch)
		}
		stock[r.Shard] = r.Stock
	}
	return stock, nil
}
