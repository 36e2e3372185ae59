package store

import (
	"context"
	"maps"
	"slices"
	"time"

	"gorm.io/gorm"

	"example.com/seckill/internal/coupon"
)

// Every instance lists the loaded coupons about once a second, and almost always finds nothing new. So the server sends
// one mark for each block of coupons, and the rows of a block only if its mark has changed:
//
//	marks of all blocks ─▶ the same as before? ─▶ yes: the rows of before
//	                                           └▶ no: read the rows of those blocks, with their marks
//
// A mark covers every column but the stock, which changes with each order. So a list also shows what an older program
// or an administrator has written, and the state of a database that was rolled back. The block keeps the marks of the
// rows that were read. If they came from a server that lags behind, the next list reads them again.

const (
	// loadedBlock is how many ids a block has.
	loadedBlock = 64
	// loadedMaxAge is how long a row may go unread. Two changes of a block may leave its mark as it was, with a
	// probability of about one in four billion.
	loadedMaxAge = time.Minute
	// rowMarkSQL is the mark of a row. The factor keeps equal changes of two rows from cancelling each other.
	rowMarkSQL = `CRC32(CONCAT_WS(' ', id, total, limit_per_user, price_cents, begins_at, ends_at, state, epoch, shards, loading,
		raised, raised_epoch, title)) * (id MOD 64 + 1)`
	loadedWhere = "epoch > 0 AND ends_at > ?"
)

// loadedList is the list of loaded coupons as it was last read. It does not change.
type loadedList struct {
	readAt time.Time // when all rows were read
	blocks map[int64]couponBlock
}

// couponBlock are the loaded coupons of some ids, and the sum of their marks.
type couponBlock struct {
	mark    uint64
	coupons []coupon.Coupon
}

// Loaded lists the coupons whose stock is or was in Redis, but those that ended at now more
// than coupon.Retention ago. It reads the rows that have changed since the last call. Left may be as old as
// loadedMaxAge.
func (c Coupons) Loaded(ctx context.Context, now time.Time) ([]coupon.Coupon, error) {
	after := dbTime(now.Add(-coupon.Retention))
	if c.s.dialect == sqliteDialect { // it is in this process
		return c.coupons(c.s.read.WithContext(ctx).Where(loadedWhere, after))
	}
	had := c.s.loaded.Load()
	if had == nil || time.Since(had.readAt) > loadedMaxAge {
		had = &loadedList{readAt: time.Now()}
	}
	is, err := c.refreshLoaded(ctx, had, after)
	if err != nil {
		return nil, wrap(err, "list the loaded coupons")
	}
	c.s.loaded.Store(is)
	all := make([]coupon.Coupon, 0, len(is.blocks)*loadedBlock)
	for _, block := range slices.Sorted(maps.Keys(is.blocks)) {
		all = append(all, is.blocks[block].coupons...)
	}
	return all, nil
}

// refreshLoaded returns the list with the blocks read again that have changed.
func (c Coupons) refreshLoaded(ctx context.Context, had *loadedList, after time.Time) (*loadedList, error) {
	db := c.s.read.WithContext(ctx)
	is := &loadedList{readAt: had.readAt, blocks: map[int64]couponBlock{}}
	var changed []int64
	if len(had.blocks) > 0 {
		marks, err := blockMarks(db, after)
		if err != nil {
			return nil, err
		}
		for block, mark := range marks {
			if of, known := had.blocks[block]; known && of.mark == mark {
				is.blocks[block] = of
			} else {
				changed = append(changed, block)
			}
		}
		if len(changed) == 0 {
			return is, nil
		}
		db = db.Where("id DIV ? IN ?", loadedBlock, changed)
	}
	var rows []struct {
		Row  couponRow `gorm:"embedded"`
		Mark uint64
	}
	err := db.Model(&couponRow{}).Select("*, "+rowMarkSQL+" AS mark").Where(loadedWhere, after).Order("id").Scan(&rows).Error
	for _, row := range rows {
		block := is.blocks[row.Row.ID/loadedBlock]
		block.mark, block.coupons = block.mark+row.Mark, append(block.coupons, row.Row.coupon())
		is.blocks[row.Row.ID/loadedBlock] = block
	}
	return is, err
}

// blockMarks reads the marks of all blocks.
func blockMarks(db *gorm.DB, after time.Time) (map[int64]uint64, error) {
	var rows []struct {
		Block int64
		Mark  uint64
	}
	err := db.Model(&couponRow{}).Select("id DIV ? AS block, CAST(SUM("+rowMarkSQL+") AS UNSIGNED) AS mark", loadedBlock).
		Where(loadedWhere, after).Group("block").Scan(&rows).Error
	marks := make(map[int64]uint64, len(rows))
	for _, row := range rows {
		marks[row.Block] = row.Mark
	}
	return marks, err
}
