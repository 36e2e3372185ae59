// Package lottery sells the first units of a sale by a draw, where a race would be won by the nearest and fastest
// clients. It wraps the order service:
//
//	begins_at ────────── the window ──────────▶ drawn ───────────────▶ ended ────▶ order.Service alone
//	  request ─▶ a ticket in the database ─▶ 202  rank all tickets,
//	  (one per user, which the same key shows)    RESERVE in that order until nothing is left
//
// A ticket is a request, and the order service serves the request of a winner like any other: RESERVE decides which
// requests get a unit, so nothing that holds for the queue is different for a draw. Several instances may draw at
// once. A draw may be killed and repeated, as a client repeats a request with the same key: each request has one hold,
// and one order. The id of a ticket is not the id of its order, and leads to the order.
//
// The rank of a user is the SHA-256 hash of the seed and the user's id. The program writes the seed when the coupon is
// published, or with the first ticket, and shows its hash. When the draw has ended, the program shows the seed. So the
// operator cannot choose a seed that suits the tickets, and each buyer can compute their own rank.
//
// The package does not promise that one person has one ticket: a person with many accounts has many tickets.
package lottery

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"strconv"
	"time"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// Draw is the draw of a coupon.
type Draw struct {
	CouponID     int64
	Seed         []byte    // 32 random bytes
	BegunAt      time.Time // from then on no ticket is given; zero: it has not begun
	EndedAt      time.Time // every winner has a row in the database; zero: it has not ended
	DecidedRanks int       // how many tickets, from the smallest rank on, are decided; more may be

	// Of a draw that has ended:
	Entrants int64
	Winners  int64  // given a unit, whether or not their orders came to be
	LastRank string // of the last winner, in hex; "" without one
}

// SeedHash returns the SHA-256 hash of the seed, in hex.
func (d Draw) SeedHash() string {
	sum := sha256.Sum256(d.Seed)
	return hex.EncodeToString(sum[:])
}

// Rank returns the rank of a user: the smallest is served first.
func (d Draw) Rank(userID int64) [sha256.Size]byte {
	return sha256.Sum256(strconv.AppendInt(bytes.Clone(d.Seed), userID, 10))
}

// The statuses of a request that has a ticket. The database never stores them.
const (
	// Entered is the status of a request whose ticket is not drawn yet.
	Entered order.Status = "entered"
	// NotDrawn is the status of a request whose ticket lost the draw.
	NotDrawn order.Status = "not_drawn"
)

// ErrDrawn means that the draw has begun, and that no user gets a ticket any more.
var ErrDrawn = errors.New("lottery: the draw has begun")

// Orders is the order service that a Service wraps. *order.Service implements it.
type Orders interface {
	Get(ctx context.Context, id, userID int64) (order.Order, error)
	List(ctx context.Context, userID, before int64, limit int) ([]order.Order, error)
	// PlaceWith places an order with the given step instead of Take.
	PlaceWith(ctx context.Context, r order.Request, answer order.Answerer) (order.Order, error)
	// Take takes a unit for an order.
	Take(ctx context.Context, sale coupon.Coupon, o order.Order) (order.Order, error)
	// NewOrder returns a new order for a request that has no order yet.
	NewOrder(ctx context.Context, sale coupon.Coupon, userID int64, requestID string) (order.Order, error)
	// Enqueue takes units for orders, and returns one error per order.
	Enqueue(ctx context.Context, sale coupon.Coupon, orders []order.Order) []error
	// CheckQueued reports which of the orders' requests are queued, and takes no unit.
	CheckQueued(ctx context.Context, sale coupon.Coupon, orders []order.Order) []error
}

// Entrances are the tickets of the users in a draw.
type Entrances interface {
	// Enter writes a ticket for the user of the order, and returns the user's: this one, or an
	// earlier one. ErrDrawn if there is none and the draw has begun.
	Enter(ctx context.Context, o order.Order) (order.Order, error)
	// Entrant returns the ticket of the user with this id, or order.ErrNotFound.
	Entrant(ctx context.Context, id, userID int64) (order.Order, error)
	// EntrantIDs lists up to limit users with a ticket and an id above after, by id.
	EntrantIDs(ctx context.Context, couponID, after int64, limit int) ([]int64, error)
	// Entrants returns the tickets of these users.
	Entrants(ctx context.Context, couponID int64, users []int64) (map[int64]Entrant, error)
}

// Draws keeps draws and their tickets.
type Draws interface {
	Entrances

	// Draw returns the draw of a coupon, or order.ErrNotFound.
	Draw(ctx context.Context, couponID int64) (Draw, error)
	// MakeDraw makes a draw with the given seed, unless the coupon has one, and returns the draw of the coupon.
	MakeDraw(ctx context.Context, couponID int64, seed []byte) (Draw, error)
	// Begin ends the giving of tickets: a call after it reads every ticket that was given.
	Begin(ctx context.Context, couponID int64, now time.Time) error
	// UnitsLeft returns how many units of the coupon the database can still sell.
	UnitsLeft(ctx context.Context, couponID int64) (int64, error)
	// Advance writes that the first d.DecidedRanks ranks are decided.
	Advance(ctx context.Context, d Draw) error
	// OpenDraws returns those of the coupons that have a draw which has not ended.
	OpenDraws(ctx context.Context, couponIDs []int64) ([]int64, error)
	// End writes the result of a draw, unless it has one.
	End(ctx context.Context, d Draw) error
}

// Rows are the rows that decide requests.
type Rows interface {
	// ByRequest reads the order that a request of the user made, or order.ErrNotFound.
	ByRequest(ctx context.Context, requestID string, userID int64) (order.Order, error)
	// Void writes a void order under o's request id. order.ErrDuplicate if the request has an order,
	// or is void, already.
	Void(ctx context.Context, o order.Order) error
}

// Sales knows the coupons on sale, as this instance has last seen them.
type Sales interface {
	Get(ctx context.Context, couponID int64) (coupon.Coupon, error)
	Invalidate(couponID int64)
}

// Stock has the units that are left.
type Stock interface {
	// Remaining returns the units in each shard, or coupon.ErrNotLoaded.
	Remaining(ctx context.Context, couponID int64, shards int) ([]int64, error)
}

// Queues have the winners whose orders are not committed yet.
type Queues interface {
	// Queues returns how full the queues of a coupon are.
	Queues(ctx context.Context, couponID int64, shards int) (order.QueueStats, error)
}

// Deps are the dependencies of a Service.
type Deps struct {
	Orders         Orders // must have a queue
	Draws          Draws
	Rows           Rows
	Sales          Sales
	Stock          Stock
	Queues         Queues
	Window         time.Duration    // how long after its begin a sale gives tickets
	PaymentTimeout time.Duration    // how long a pending order awaits its payment
	Now            func() time.Time // nil is time.Now
	Log            *slog.Logger     // nil is slog.Default
}

// Service is the order service with a draw before it. It is safe for concurrent use.
type Service struct {
	orders         Orders
	store          Draws
	rows           Rows
	sales          Sales
	stock          Stock
	queues         Queues
	maxQueued      int64
	window         time.Duration
	paymentTimeout time.Duration
	now            func() time.Time
	log            *slog.Logger

	draws   draws
	tickets tickets
	turn    chan struct{} // a token for the one pass over a draw that this instance runs at a time
}

// New returns a Service.
func New(d Deps) *Service {
	if d.Now == nil {
		d.Now = time.Now
	}
	if d.Log == nil {
		d.Log = slog.Default()
	}
	s := &Service{
		orders: d.Orders, store: d.Draws, rows: d.Rows, sales: d.Sales, stock: d.Stock, queues: d.Queues, maxQueued: maxQueued,
		window: d.Window, paymentTimeout: d.PaymentTimeout, now: d.Now, log: d.Log,
		draws: draws{known: map[int64]knownDraw{}}, tickets: tickets{all: map[int64]order.Order{}}, turn: make(chan struct{}, 1),
	}
	s.turn <- struct{}{}
	return s
}
