package store

import (
	"context"
	"database/sql"
	"fmt"
	"hash/maphash"
	"math/bits"
	"slices"

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
	c.ids.add(maphash.Comparable(hashSeed, b.ID), b.ID)
	c.requests.add(maphash.String(hashSeed, b.RequestID), b.RequestID)
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
// that does not grow with their number: a Bloom filter remembers what was seen, and the
// few values that it only seems to have seen are looked up.
type duplicateFinder struct {
	column     string
	filter     []uint64
	candidates []any
	confirmed  map[string]bool
}

var hashSeed = maphash.MakeSeed()

const (
	// A filter has sixteen bits a unit of the sale, and no more than 8 MiB: with four bits
	// set for each, one in 400 of five million orders is looked up.
	minFilterBits, maxFilterBits, filterBitsPerUnit = 1 << 16, 1 << 26, 16
	bitsPerValue                                    = 4
	// maxConfirmed bounds what is remembered of a table that has lost its unique index.
	maxConfirmed = 100_000
)

func newDuplicateFinder(column string, units int64) *duplicateFinder {
	size := 1 << bits.Len64(uint64(min(max(units*filterBitsPerUnit, minFilterBits), maxFilterBits)-1))
	return &duplicateFinder{column: column, filter: make([]uint64, size/64), confirmed: map[string]bool{}}
}

// add remembers a value by its hash. One that was seen before becomes a suspect.
func (s *duplicateFinder) add(hash uint64, value any) {
	seen := true
	size := uint64(len(s.filter)) * 64
	for range bitsPerValue {
		at := hash & (size - 1)
		word, bit := &s.filter[at/64], uint64(1)<<(at%64)
		seen = seen && *word&bit != 0
		*word |= bit
		hash = bits.RotateLeft64(hash*0x9e3779b97f4a7c15, 29) //nolint:mnd // the golden ratio spreads
	}
	if seen && len(s.confirmed) < maxConfirmed {
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
