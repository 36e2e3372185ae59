package store

import (
	"context"
	"errors"
	"strings"
	"time"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// dbTime returns the time in UTC, truncated to the millisecond. All databases store this value. The program truncates,
// because the servers differ. MySQL rounds, MariaDB truncates, and SQLite keeps all digits.
func dbTime(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

type couponRow struct {
	ID           int64 `gorm:"primaryKey"`
	Title        string
	Total        int64
	Stock        int64
	LimitPerUser int
	PriceCents   int64
	BeginsAt     time.Time
	EndsAt       time.Time
	State        coupon.State
	Epoch        int64
	Shards       int
	Loading      int // 0, filling or opening
	Raised       int64
	RaisedEpoch  int64 // the epoch in which Raised counts
}

// The stages of a loading, as values of the column loading.
const (
	loadFilling = 1 // no shard of the epoch may be open
	loadOpening = 2 // every shard of the epoch has its buyers
)

func loadingColumn(c coupon.Coupon) int {
	switch {
	case c.Loading && c.Opening:
		return loadOpening
	case c.Loading:
		return loadFilling
	}
	return 0
}

func (couponRow) TableName() string { return "coupons" }

func rowOfCoupon(c coupon.Coupon) couponRow {
	row := couponRow{
		ID: c.ID, Title: c.Title, Total: c.Total, Stock: c.Left, LimitPerUser: c.LimitPerUser, PriceCents: c.PriceCents,
		BeginsAt: dbTime(c.BeginsAt), EndsAt: dbTime(c.EndsAt), State: c.State, Epoch: c.Epoch, Shards: c.Shards,
		Loading: loadingColumn(c), Raised: c.Raised,
	}
	if c.Raised > 0 {
		row.RaisedEpoch = c.Epoch
	}
	return row
}

func (r couponRow) coupon() coupon.Coupon {
	c := coupon.Coupon{
		ID: r.ID, Title: r.Title, Total: r.Total, Left: r.Stock, LimitPerUser: r.LimitPerUser, PriceCents: r.PriceCents,
		BeginsAt: r.BeginsAt.UTC(), EndsAt: r.EndsAt.UTC(), State: r.State, Epoch: r.Epoch, Shards: r.Shards,
		Loading: r.Loading != 0, Opening: r.Loading == loadOpening,
	}
	if r.RaisedEpoch == r.Epoch {
		c.Raised = r.Raised
	}
	return c
}

type deploymentRow struct {
	ID     string `gorm:"primaryKey"`
	Mark   int64
	Server string
}

func (deploymentRow) TableName() string { return "deployment" }

type orderRow struct {
	ID         int64 `gorm:"primaryKey;autoIncrement:false"`
	CouponID   int64
	UserID     int64 `gorm:"primaryKey;autoIncrement:false"`
	Slot       *int  // NULL when the order is not live
	Status     order.Status
	PriceCents int64
	RequestID  string
	Shard      int
	Fence      uint64
	CreatedAt  time.Time `gorm:"autoCreateTime:false"`
	ExpiresAt  time.Time
}

func (orderRow) TableName() string { return "orders" }

func rowOfOrder(o order.Order) orderRow {
	r := orderRow{
		ID: o.ID, CouponID: o.CouponID, UserID: o.UserID, Status: o.Status, PriceCents: o.PriceCents,
		RequestID: o.RequestID, Shard: o.Shard, Fence: o.Fence, CreatedAt: dbTime(o.CreatedAt), ExpiresAt: dbTime(o.ExpiresAt),
	}
	if o.Status.Live() {
		r.Slot = &o.Slot
	}
	return r
}

func (r orderRow) order() order.Order {
	o := order.Order{
		ID: r.ID, CouponID: r.CouponID, UserID: r.UserID, Status: r.Status, PriceCents: r.PriceCents,
		RequestID: r.RequestID, Shard: r.Shard, Fence: r.Fence, CreatedAt: r.CreatedAt.UTC(), ExpiresAt: r.ExpiresAt.UTC(),
	}
	if r.Slot != nil {
		o.Slot = *r.Slot
	}
	return o
}

type fenceRow struct {
	UserID int64 `gorm:"primaryKey;autoIncrement:false"`
	Fence  uint64
}

func (fenceRow) TableName() string { return "fences" }

type returnRow struct {
	OrderID  int64 `gorm:"primaryKey;autoIncrement:false"`
	CouponID int64
	UserID   int64 `gorm:"primaryKey;autoIncrement:false"`
	Shard    int
	Epoch    int64
	Shards   int
}

func (returnRow) TableName() string { return "stock_returns" }

// statement is one statement of a batch that goes to the server in one round trip.
type statement struct {
	sql   string
	args  []any
	dest  []any  // the destinations of the values of each row; nil if the statement has no result set
	onRow func() // called after each row
}

var errMissingResult = errors.New("store: a statement has not answered")

// execBatch runs statements one after the other, in one round trip. On a busy machine each round trip waits for a
// processor at both ends, which takes longer than most statements. After a statement that fails, execBatch runs no
// further statement.
func (t groupTx) execBatch(ctx context.Context, of ...statement) error {
	if len(of) == 0 {
		return nil
	}
	if t.dialect != sqliteDialect {
		return t.queryBatch(ctx, of...)
	}
	for _, s := range of { // SQLite runs in this process: there is no round trip
		var err error
		if s.dest == nil {
			_, err = t.conn.ExecContext(ctx, s.sql, s.args...)
		} else {
			err = t.queryBatch(ctx, s)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// queryBatch runs statements in one call to the driver.
func (t groupTx) queryBatch(ctx context.Context, of ...statement) error {
	texts, args := make([]string, 0, len(of)), []any(nil)
	for _, s := range of {
		texts, args = append(texts, s.sql), append(args, s.args...)
	}
	rows, err := t.conn.QueryContext(ctx, strings.Join(texts, "; "), args...)
	if err != nil {
		return err //nolint:wrapcheck // the caller says what for
	}
	defer rows.Close() //nolint:errcheck // Err tells
	first := true
	for _, s := range of {
		if s.dest == nil {
			continue
		}
		if !first && !rows.NextResultSet() {
			return errors.Join(errMissingResult, rows.Err())
		}
		first = false
		for rows.Next() {
			if err := rows.Scan(s.dest...); err != nil {
				return err //nolint:wrapcheck // the same
			}
			s.onRow()
		}
	}
	// A statement behind the last answer can fail as well. The driver returns its error only to a caller
	// that asks for the next result. Without the question a transaction would commit without that statement.
	for rows.NextResultSet() {
	}
	return rows.Err()
}
