package store

import (
	"context"
	"database/sql"
	"fmt"
	"hash/maphash"
	"math/bits"
	"slices"

	"gorm.io/gorm"

	"seckill/internal/coupon"
	"seckill/internal/order"
)

// counting counts the orders of a Ledger as they are read, those of a user together.
type counting struct {
	Totals
	limit    int64
	user     int64 // whose orders are being read
	live     int64 // of that user
	ids      *sharing
	requests *sharing
}

func newCounting(c coupon.Coupon) *counting {
	return &counting{
		Totals: Totals{ByStatus: map[order.Status]int64{}}, limit: int64(c.LimitPerUser),
		ids: newSharing("id", c.Total), requests: newSharing("request_id", c.Total),
	}
}

// statuses are all that there are.
var statuses = []order.Status{order.Pending, order.Paid, order.Cancelled, order.Expired, order.Void}

func (c *counting) add(b Booked, slotted bool, fence sql.Null[uint64]) {
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
	if !slices.Contains(statuses, b.Status) || b.Status.Live() != slotted || b.Owed && !returned {
		c.BadState++
	}
	if b.Status != order.Void && (!fence.Valid || b.Fence > fence.V) {
		c.Stale++
	}
	c.ids.add(maphash.Comparable(hashSeed, b.ID), b.ID)
	c.requests.add(maphash.String(hashSeed, b.RequestID), b.RequestID)
}

// twice asks the database about the orders that seem to share something, when they are
// many or the last.
func (l *ledger) twice(ctx context.Context, c *counting, last bool) error {
	for _, s := range []*sharing{c.ids, c.requests} {
		for len(s.suspects) >= lookupSize || last && len(s.suspects) > 0 {
			some := s.suspects[:min(len(s.suspects), lookupSize)]
			s.suspects = s.suspects[len(some):]
			n, err := s.convict(ctx, l.db, l.coupon.ID, some)
			if err != nil {
				return err
			}
			c.SameID += n
		}
	}
	return nil
}

// sharing finds the orders that share a column's value with an earlier one, in memory
// that does not grow with their number: a Bloom filter remembers what was seen, and the
// few values that it only seems to have seen are looked up.
type sharing struct {
	column   string
	filter   []uint64
	suspects []any
	guilty   map[string]bool
}

var hashSeed = maphash.MakeSeed()

const (
	// A filter has sixteen bits a unit of the sale, and no more than 8 MiB: with four bits
	// set for each, one in 400 of five million orders is looked up.
	leastBits, mostBits, bitsEach = 1 << 16, 1 << 26, 16
	bitsSet                       = 4
	// mostGuilty bounds what is remembered of a table that has lost its unique index.
	mostGuilty = 100_000
)

func newSharing(column string, units int64) *sharing {
	size := 1 << bits.Len64(uint64(min(max(units*bitsEach, leastBits), mostBits)-1))
	return &sharing{column: column, filter: make([]uint64, size/64), guilty: map[string]bool{}}
}

// add remembers a value by its hash. One that was seen before becomes a suspect.
func (s *sharing) add(hash uint64, value any) {
	seen := true
	size := uint64(len(s.filter)) * 64
	for range bitsSet {
		at := hash & (size - 1)
		word, bit := &s.filter[at/64], uint64(1)<<(at%64)
		seen = seen && *word&bit != 0
		*word |= bit
		hash = bits.RotateLeft64(hash*0x9e3779b97f4a7c15, 29) //nolint:mnd // the golden ratio spreads
	}
	if seen && len(s.guilty) < mostGuilty {
		s.suspects = append(s.suspects, value)
	}
}

// convict counts the orders that share one of the values with another, but one of each
// value.
func (s *sharing) convict(ctx context.Context, db *gorm.DB, couponID int64, values []any) (n int64, err error) {
	err = within(ctx, func(ctx context.Context) error {
		rows, err := db.WithContext(ctx).Model(&orderRow{}).Where("coupon_id = ? AND "+s.column+" IN ?", couponID, values).
			Select(s.column + ", COUNT(*)").Group(s.column).Having("COUNT(*) > 1").Rows()
		if err != nil {
			return fmt.Errorf("orders that share their %s: %w", s.column, err)
		}
		defer rows.Close() //nolint:errcheck // Err tells
		for rows.Next() {
			var value sql.RawBytes
			var orders int64
			if err := rows.Scan(&value, &orders); err != nil {
				return fmt.Errorf("orders that share their %s: %w", s.column, err)
			}
			if name := string(value); !s.guilty[name] {
				s.guilty[name] = true
				n += orders - 1
			}
		}
		return rows.Err()
	})
	return n, err
}
