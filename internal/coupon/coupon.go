// Package coupon defines a coupon, its states and its sale window.
//
// The package decides whether a buyer may buy a coupon at a moment. Package order sells the units. A coupon moves
// along one line, and back only by a pause:
//
//	draft ─▶ publication ─▶ on_sale ─▶ ended
//	             ▲             │
//	             └── paused ◀──┘
//
// The state expresses the intent of an administrator. It does not show whether the stock is loaded. While the
// stock is being loaded, the server admits no order in any state.
//
// An epoch is one loading of the stock into Redis. Every reservation belongs to the epoch of its loading. The
// database rejects an order of an older epoch. So an administrator can load the stock again at any time, and no
// unit counts twice.
package coupon

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// State is a stage in the life of a coupon.
type State string

// The states of a coupon.
const (
	Draft  State = "draft"   // not announced: only administrators see it
	OnSale State = "on_sale" // open inside its window, after its stock is loaded
	Paused State = "paused"  // closed until a publication opens it again
	Ended  State = "ended"   // over for good, by an administrator or by the clock
)

// The reasons why the server does not sell, show or change a coupon.
var (
	ErrNotFound        = errors.New("coupon: not found")
	ErrNotStarted      = errors.New("coupon: the sale has not started")
	ErrEnded           = errors.New("coupon: the sale has ended")
	ErrPaused          = error(pausedError{}) // is an ErrNotLoaded as well
	ErrNotLoaded       = errors.New("coupon: its stock is not loaded")
	ErrSoldOut         = errors.New("coupon: sold out")
	ErrConflict        = errors.New("coupon: its state forbids that")
	ErrInvalid         = errors.New("coupon: invalid")
	ErrOtherDeployment = errors.New("coupon: Redis is in use by another database: set redis.prefix, or stop the other")
	ErrPartiallyLoaded = errors.New("coupon: a shard that was loaded is lost: its epoch cannot be opened")
)

// pausedError is the error of a paused sale. As for ErrNotLoaded, a buyer may ask again.
type pausedError struct{}

func (pausedError) Error() string { return "coupon: the sale is paused" }

// Is reports whether target is ErrNotLoaded.
func (pausedError) Is(target error) bool { return target == ErrNotLoaded }

// The bounds of a coupon's fields.
const (
	MaxTitle = 200           // characters
	MaxStock = 100_000_000   // units
	MaxLimit = 1000          // units per user
	MaxPrice = 1_000_000_000 // cents
)

// Coupon is a product on sale. It has a number of units, a sale window and a limit per user.
type Coupon struct {
	ID           int64
	Title        string
	Total        int64 // units put on sale
	Left         int64 // units that the database has not sold
	LimitPerUser int   // live orders that one user may have
	PriceCents   int64
	BeginsAt     time.Time // the first moment of the sale
	EndsAt       time.Time // the first moment after the sale
	State        State
	Epoch        int64 // names the latest loading of its stock, see EpochAfter; 0 before the first loading
	Shards       int   // Redis counters of the stock; 0 before the first loading and after they are freed
	Raised       int64 // units added to the running sale since its epoch started; the shards get each of them once
	Loading      bool  // its epoch has started, and the database has no record that the shards are loaded with it
	Opening      bool  // Loading, and every shard has its buyers; some shards may be open
}

// Validate returns one ErrInvalid that lists every field of c that is out of bounds, or nil.
func (c Coupon) Validate() error {
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

// CheckPurchasable returns nil if a buyer may ask for a unit at now. Otherwise it returns ErrNotFound, ErrNotStarted,
// ErrEnded, ErrPaused or ErrNotLoaded. A draft is ErrNotFound, because buyers do not see it. The window includes its
// start and excludes its end.
func (c Coupon) CheckPurchasable(now time.Time) error {
	switch {
	case c.State == Draft:
		return ErrNotFound
	case c.State == Ended || !now.Before(c.EndsAt):
		return ErrEnded
	case now.Before(c.BeginsAt):
		return ErrNotStarted
	case c.State == Paused:
		return ErrPaused
	case c.State != OnSale || c.Loading:
		return ErrNotLoaded
	}
	return nil
}

// EpochAfter returns the epoch that starts now. The epochs of a coupon grow, because an epoch is the time in
// microseconds. No database uses an epoch twice. Neither does a database that this database was restored or
// copied from, or that it replaced. Lua stores numbers as doubles, and a double holds the epoch exactly for
// another two hundred years.
func EpochAfter(last int64, now time.Time) int64 { return max(last+1, now.UnixMicro()) }

// StateAt returns the state that a buyer sees. After the window the sale has ended, even if the database has
// another state.
func (c Coupon) StateAt(now time.Time) State {
	if !now.Before(c.EndsAt) {
		return Ended
	}
	return c.State
}

// Home returns the home shard of a user. This shard accounts for the user, and a purchase request calls it first. The
// unit of an ended order goes back to the home shard, even if another shard lent the unit.
func Home(userID int64, shards int) int {
	// The finalizer of splitmix64 (Steele, Lea, Flood 2014) spreads consecutive ids evenly over any
	// number of shards.
	x := uint64(userID) + 0x9e3779b97f4a7c15 //nolint:gosec // its bits, whatever they mean
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return int((x ^ x>>31) % uint64(shards)) //nolint:gosec // below shards, which is above zero
}

// Share returns the part of the units that a shard gets: shares differ by one at most.
func Share(units int64, shards, shard int) int64 {
	share := units / int64(shards)
	if int64(shard) < units%int64(shards) {
		share++
	}
	return share
}
