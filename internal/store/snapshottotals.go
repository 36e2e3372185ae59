package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"

	"github.com/bits-and-blooms/bloom/v3"
	"gorm.io/gorm"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// totalsCounter counts the orders of a Snapshot as they are read, those of a user together.
type totalsCounter struct {
	Totals
	limit    int64
	user     int64 // whose orders are being read
	live     int64 // of that user
	ids      *duplicateFinder
	requests *duplicateFinder
}

func newTotalsCounter(c coupon.Coupon) *totalsCounter {
	return &totalsCounter{
		Totals: Totals{ByStatus: map[order.Status]int64{}}, limit: int64(c.LimitPerUser),
		ids: newDuplicateFinder("id", c.Total), requests: newDuplicateFinder("request_id", c.Total),
	}
}

// allStatuses are all that there are.
var allStatuses = []order.Status{order.Pending, order.Paid, order.Cancelled, order.Expired, order.Void}

func (c *totalsCounter) add(b SnapshotOrder, slotted bool, fence sql.Null[uint64]) {
	if b.UserID != c.user {
		c.user, c.live = b.UserID, 0
	}
	c.ByStatus[b.Status]++
	switch {
	case b.Status == order.Void:
		c.Voids++
	case b.Status.Live():
		c.Orders++
		c.Live++
		if c.live++; c.live == 1 {
			c.Users++
		}
		if c.live > c.limit {
			c.OverLimit++
		}
	default:
		c.Orders++
	}
	returned := b.Status == order.Cancelled || b.Status == order.Expired
	if !slices.Contains(allStatuses, b.Status) || b.Status.Live() != slotted || b.Owed && !returned {
		c.BadState++
	}
	if b.Status != order.Void && (!fence.Valid || b.Fence > fence.V) {
		c.Stale++
	}
	c.ids.add(strconv.FormatInt(b.ID, 10), b.ID)
	c.requests.add(b.RequestID, b.RequestID)
}

// confirmDuplicates asks the database about the orders that seem to share something, when they are
// many or the last.
func (l *snapshot) confirmDuplicates(ctx context.Context, c *totalsCounter, last bool) error {
	for _, s := range []*duplicateFinder{c.ids, c.requests} {
		for len(s.candidates) >= keysPerStatement || last && len(s.candidates) > 0 {
			some := s.candidates[:min(len(s.candidates), keysPerStatement)]
			s.candidates = s.candidates[len(some):]
			n, err := s.confirm(ctx, l.db, l.coupon.ID, some)
			if err != nil {
				return err
			}
			c.SameID += n
		}
	}
	return nil
}

// duplicateFinder finds the orders that share a column's value with an earlier one, in memory
// that does not grow with their number: a Bloom filter remembers the values. The database
// confirms the few values that the filter only seems to have.
type duplicateFinder struct {
	column     string
	filter     *bloom.BloomFilter
	candidates []any
	confirmed  map[string]bool
}

const (
	// A filter has sixteen bits per unit of the sale, and 8 MiB at most. With four hashes per
	// value, the database looks up one in 1,000 of five million orders.
	minFilterBits, maxFilterBits, filterBitsPerUnit = 1 << 16, 1 << 26, 16
	hashesPerValue                                  = 4
	// maxConfirmed bounds the memory for a table that has lost its unique index.
	maxConfirmed = 100_000
)

func newDuplicateFinder(column string, units int64) *duplicateFinder {
	size := min(max(units*filterBitsPerUnit, minFilterBits), maxFilterBits)
	return &duplicateFinder{column: column, filter: bloom.New(uint(size), hashesPerValue), confirmed: map[string]bool{}}
}

// add remembers a value by its key. A value with a key of before becomes a candidate.
func (s *duplicateFinder) add(key string, value any) {
	if s.filter.TestAndAddString(key) && len(s.confirmed) < maxConfirmed {
		s.candidates = append(s.candidates, value)
	}
}

// confirm counts the orders that share one of the values with another, but one of each
// value.
func (s *duplicateFinder) confirm(ctx context.Context, db *gorm.DB, couponID int64, values []any) (n int64, err error) {
	var shared []struct {
		Name   string
		Orders int64
	}
	err = withPageTimeout(ctx, func(ctx context.Context) error {
		return db.WithContext(ctx).Model(&orderRow{}).Where("coupon_id = ? AND "+s.column+" IN ?", couponID, values).
			Select(s.column + " AS name, COUNT(*) AS orders").Group(s.column).Having("COUNT(*) > 1").Scan(&shared).Error
	})
	if err != nil {
		return 0, fmt.Errorf("orders that share their %s: %w", s.column, err)
	}
	for _, one := range shared {
		if !s.confirmed[one.Name] {
			s.confirmed[one.Name] = true
			n += one.Orders - 1
		}
	}
	return n, nil
}
