package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"gorm.io/gorm"

	"example.com/seckill/internal/coupon"
)

// NextEpoch begins an epoch after the one that the caller has seen, and notes that it is
// being loaded. It counts no buyers: the coupon's row is held for as long as one update
// takes, however many have bought.
//
// The update locks the row, from which every order takes its unit at its end. An order that did so
// before is committed, and Buyers will count it; one that comes after finds another epoch and is
// rolled back.
func (c Coupons) NextEpoch(ctx context.Context, id, seen int64, shards int, then coupon.AfterLoad) (coupon.Load, error) {
	load := coupon.Load{CouponID: id, Shards: shards}
	err := c.s.inUpdateTx(ctx, func(ctx context.Context, db *gorm.DB) error {
		set := map[string]any{"epoch": coupon.EpochAfter(seen, c.s.now()), "shards": shards, "loading": loadFilling}
		if then == coupon.PutOnSale {
			set["state"] = coupon.OnSale
		}
		begun := db.WithContext(ctx).Model(&couponRow{}).
			Where("id = ? AND epoch = ? AND state <> ?", id, seen, coupon.Ended).UpdateColumns(set)
		if begun.Error != nil {
			return fmt.Errorf("begin an epoch of coupon %d: %w", id, begun.Error)
		}
		row, err := readCoupon(db.WithContext(ctx), id)
		switch {
		case err != nil:
			return err
		case begun.RowsAffected == 1:
		case row.State == coupon.Ended:
			return fmt.Errorf("%w: it has ended", coupon.ErrConflict)
		default:
			return fmt.Errorf("%w: epoch %d was begun after epoch %d", coupon.ErrConflict, row.Epoch, seen)
		}
		load.Epoch, load.Units = row.Epoch, row.Stock
		return nil
	})
	return load, err
}

// Resume reads the units that the loading of an epoch began with, while none of its shards may be
// open. Units that have come back since are not in Units: the outbox owes them to the shards.
// It is one statement, so that stock and outbox are of one moment.
func (c Coupons) Resume(ctx context.Context, id, epoch int64) (coupon.Load, error) {
	var rows []struct {
		Shards int
		Units  int64
	}
	err := c.s.read.WithContext(ctx).Raw(`SELECT shards, stock
		- (SELECT COUNT(*) FROM stock_returns AS r WHERE r.coupon_id = coupons.id AND r.epoch = coupons.epoch) AS units
		FROM coupons WHERE id = ? AND epoch = ? AND loading = ?`, id, epoch, loadFilling).Scan(&rows).Error
	switch {
	case err != nil:
		return coupon.Load{}, wrap(err, "read the loading of coupon %d", id)
	case len(rows) == 0:
		return coupon.Load{}, fmt.Errorf("%w: epoch %d is not being loaded any more", coupon.ErrConflict, epoch)
	}
	return coupon.Load{CouponID: id, Epoch: epoch, Shards: rows[0].Shards, Units: rows[0].Units}, nil
}

// buyersPage is how many rows of orders one page reads. Of its last user it reads all rows.
const buyersPage = 10_000

// pageEndSQL finds the last user of a page, and countBuyersSQL counts the page. Both read
// the index orders_slot and no row.
const (
	pageEndSQL = `SELECT MAX(user_id) FROM (SELECT user_id FROM orders %[1]s
		WHERE coupon_id = ? AND user_id > ? ORDER BY user_id LIMIT ?) AS w`
	countBuyersSQL = `SELECT user_id, COUNT(slot) FROM orders %[1]s WHERE coupon_id = ? AND user_id > ? AND user_id <= ?
		GROUP BY user_id HAVING COUNT(slot) > 0
		UNION ALL SELECT user_id, COUNT(*) FROM stock_returns
		WHERE coupon_id = ? AND epoch = ? AND user_id > ? AND user_id <= ? GROUP BY user_id`
)

// forceSlotIndexSQL makes MySQL and MariaDB use that index, against their statistics.
var forceSlotIndexSQL = map[dialect]string{mysqlDialect: "FORCE INDEX (orders_slot)"}

// Buyers counts, for the users of one page, the live orders that each had when the epoch
// began. Until the user's shard is open the count stays the same, and each page may be of a
// moment of its own:
//
//	live when the epoch began = live now + what the outbox owes the epoch
//
// No order of an older epoch can be committed any more, and none of this one before it is
// open. An order that is cancelled or expires meanwhile enters the outbox in the same
// transaction and stays there until the user's shard is open. One statement counts both, and
// sees one moment.
func (c Coupons) Buyers(ctx context.Context, id, epoch, after int64) (coupon.Page, error) {
	return c.buyers(ctx, id, epoch, after, buyersPage)
}

func (c Coupons) buyers(ctx context.Context, id, epoch, after int64, limit int) (coupon.Page, error) {
	ctx, cancel := context.WithTimeout(ctx, c.s.txTimeout)
	defer cancel()
	db, index := c.s.read.WithContext(ctx), forceSlotIndexSQL[c.s.dialect]
	var end *int64
	if err := db.Raw(fmt.Sprintf(pageEndSQL, index), id, after, limit).Scan(&end).Error; err != nil {
		return coupon.Page{}, wrap(err, "page the buyers of coupon %d", id)
	}
	if end == nil {
		return coupon.Page{Through: after}, nil
	}
	rows, err := db.Raw(fmt.Sprintf(countBuyersSQL, index), id, after, *end, id, epoch, after, *end).Rows()
	if err != nil {
		return coupon.Page{}, wrap(err, "count the buyers of coupon %d", id)
	}
	defer rows.Close() //nolint:errcheck // Err tells
	all := make([]coupon.Buyer, 0, limit)
	for rows.Next() {
		var b coupon.Buyer
		if err := rows.Scan(&b.UserID, &b.Units); err != nil {
			return coupon.Page{}, wrap(err, "count the buyers of coupon %d", id)
		}
		all = append(all, b)
	}
	return coupon.Page{Buyers: mergeBuyers(all), Through: *end}, wrap(rows.Err(), "count the buyers of coupon %d", id)
}

// mergeBuyers adds up the entries of a user: one for the orders and one for the outbox.
func mergeBuyers(all []coupon.Buyer) []coupon.Buyer {
	slices.SortFunc(all, func(a, b coupon.Buyer) int { return cmp.Compare(a.UserID, b.UserID) })
	kept := all[:0]
	for _, b := range all {
		if last := len(kept) - 1; last >= 0 && kept[last].UserID == b.UserID {
			kept[last].Units += b.Units
			continue
		}
		kept = append(kept, b)
	}
	return kept
}
