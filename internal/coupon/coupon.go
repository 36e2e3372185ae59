// Package coupon knows what is on sale and when.
//
// It decides whether a coupon may be bought at a moment; it does not sell: that
// is package order. A coupon moves along one line, and back only by a pause:
//
//	draft ─▶ publication ─▶ on_sale ─▶ ended
//	             ▲             │
//	             └── paused ◀──┘
//
// The state is what an administrator wants. Whether the stock is there is another matter:
// while it is being loaded no order is admitted, whatever the state.
//
// An epoch is one loading of the stock into Redis. Every unit is reserved under
// the epoch of its loading, and the database refuses an order of an older one,
// so that the stock can be loaded again at any time without counting twice.
package coupon

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// State is where a coupon is in its life.
type State string

// The states of a coupon.
const (
	Draft  State = "draft"   // not announced: only administrators see it
	OnSale State = "on_sale" // open, inside its window and once its stock is loaded
	Paused State = "paused"  // closed for now; a publication opens it again
	Ended  State = "ended"   // over for good, by an administrator or by the clock
)

// The reasons why a coupon cannot be bought, shown or changed.
var (
	ErrNotFound   = errors.New("coupon: not found")
	ErrNotStarted = errors.New("coupon: the sale has not started")
	ErrEnded      = errors.New("coupon: the sale has ended")
	ErrNotLoaded  = errors.New("coupon: its stock is not loaded")
	ErrSoldOut    = errors.New("coupon: sold out")
	ErrConflict   = errors.New("coupon: its state forbids that")
	ErrInvalid    = errors.New("coupon: invalid")
	ErrForeign    = errors.New("coupon: Redis is in use by another database: set redis.prefix, or stop the other")
	ErrTorn       = errors.New("coupon: a shard that was loaded is lost: its epoch cannot be opened")
)

// The bounds of what a coupon may be.
const (
	MaxTitle = 200           // characters
	MaxStock = 100_000_000   // units
	MaxLimit = 1000          // units per user
	MaxPrice = 1_000_000_000 // cents
)

// Coupon is what is on sale: so many units, a window of time, a limit per user.
type Coupon struct {
	ID           int64
	Title        string
	Total        int64 // units put on sale
	Left         int64 // units that the database has not sold
	LimitPerUser int   // live orders that one user may have
	PriceCents   int64
	BeginsAt     time.Time // the first moment of the sale
	EndsAt       time.Time // the first moment after it
	State        State
	Epoch        int64 // names the latest loading of its stock, see EpochAfter; 0 before the first
	Shards       int   // Redis counters that the stock is split over; 0 before the first time and when they are freed
	StockRows    int   // rows that the database splits Left over, one a shard; 0: it is in the coupon's row
	Raised       int64 // units added since its epoch began, while it was on sale: the shards are owed each once
	Loading      bool  // its epoch has begun and the shards are not known to be loaded with it
	Opening      bool  // Loading, and every shard has its buyers: some may be open
}

// Check reports everything about c that is out of bounds, as one ErrInvalid.
func (c Coupon) Check() error {
	var wrong []string
	bounds := func(name string, v, low, high int64) {
		if v < low || v > high {
			wrong = append(wrong, fmt.Sprintf("%s must be from %d to %d", name, low, high))
		}
	}
	blank := strings.TrimSpace(c.Title) == ""
	if blank || utf8.RuneCountInString(c.Title) > MaxTitle || !utf8.ValidString(c.Title) {
		wrong = append(wrong, fmt.Sprintf("title must have 1 to %d characters", MaxTitle))
	} else if strings.ContainsFunc(c.Title, unicode.IsControl) {
		wrong = append(wrong, "title must be one line, without control characters")
	}
	bounds("stock", c.Total, 1, MaxStock)
	bounds("limit_per_user", int64(c.LimitPerUser), 1, MaxLimit)
	bounds("price_cents", c.PriceCents, 0, MaxPrice)
	switch {
	case c.BeginsAt.Year() < 2000 || c.EndsAt.Year() > 9000:
		wrong = append(wrong, "begins_at and ends_at must be in the years 2000 to 9000")
	case !c.BeginsAt.Before(c.EndsAt):
		wrong = append(wrong, "begins_at must be before ends_at")
	}
	if len(wrong) > 0 {
		return fmt.Errorf("%w: %s", ErrInvalid, strings.Join(wrong, "; "))
	}
	return nil
}

// Admits returns nil if a unit may be asked for at now, or else ErrNotFound, which a draft is to
// buyers, ErrNotStarted, ErrEnded or ErrNotLoaded. The window includes its begin and excludes its
// end.
func (c Coupon) Admits(now time.Time) error {
	switch {
	case c.State == Draft:
		return ErrNotFound
	case c.State == Ended || !now.Before(c.EndsAt):
		return ErrEnded
	case now.Before(c.BeginsAt):
		return ErrNotStarted
	case c.State != OnSale || c.Loading:
		return ErrNotLoaded
	}
	return nil
}

// EpochAfter returns the epoch that begins now. The epochs of a coupon grow, and none is ever
// used twice, not even by a database that this one was restored or copied from or that it
// replaced: an epoch is the time in microseconds. As a double, which is what Lua has for
// numbers, it is exact for another two hundred years.
func EpochAfter(last int64, now time.Time) int64 { return max(last+1, now.UnixMicro()) }

// StateAt returns the state as a buyer sees it: a sale whose window has passed has ended,
// whether or not the database says so.
func (c Coupon) StateAt(now time.Time) State {
	if !now.Before(c.EndsAt) {
		return Ended
	}
	return c.State
}
