package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"example.com/seckill/internal/api/auth"
	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/lottery"
	"example.com/seckill/internal/order"
)

// Coupons reads coupons for any client, from memory and without drafts. *coupon.Service
// implements it.
type Coupons interface {
	Get(ctx context.Context, id int64) (coupon.Coupon, error)
	List(ctx context.Context, after int64, limit int) ([]coupon.Coupon, error)
}

// Editor reads and changes coupons for an administrator. *coupon.Service implements it.
type Editor interface {
	Read(ctx context.Context, id int64) (coupon.Coupon, error)
	ReadAll(ctx context.Context, after int64, limit int) ([]coupon.Coupon, error)
	Create(ctx context.Context, c coupon.Coupon) (coupon.Coupon, error)
	Patch(ctx context.Context, id int64, ch coupon.Change) (coupon.Coupon, error)
	Publish(ctx context.Context, id int64) (coupon.Coupon, error)
	Pause(ctx context.Context, id int64) (coupon.Coupon, error)
}

// Orders places and reads the orders of a user. *order.Service and *lottery.Service implement it.
type Orders interface {
	Place(ctx context.Context, r order.Request) (order.Order, error)
	Get(ctx context.Context, id, userID int64) (order.Order, error)
	List(ctx context.Context, userID, before int64, limit int) ([]order.Order, error)
}

// Draws reads the draws of sales whose first buyers are drawn. *lottery.Service implements it.
type Draws interface {
	DrawsAt(ctx context.Context, couponID int64) (time.Time, error)
	ReadDraw(ctx context.Context, couponID int64) (d lottery.Draw, drawsAt time.Time, err error)
}

// Payments pays and cancels the orders of a user. *order.Service implements it.
type Payments interface {
	Pay(ctx context.Context, id, userID int64) (order.Order, error)
	Cancel(ctx context.Context, id, userID int64) (order.Order, error)
}

// StockReader reads the units left in each shard. *stock.Stock implements it.
type StockReader interface {
	Remaining(ctx context.Context, couponID int64, shards int) ([]int64, error)
}

// SaleStatus returns live figures of a sale.
type SaleStatus interface {
	// Ledger reads the figures of a sale in the database, in one statement; coupon.ErrNotFound if there is no such coupon.
	Ledger(ctx context.Context, couponID int64) (Ledger, error)
	LiveStats(ctx context.Context, c coupon.Coupon) (LiveStats, error)
}

// LiveStats holds live figures of a sale. P99 and the locks are of this instance only, and of all
// its sales.
type LiveStats struct {
	Holds        []int64       // by shard: units taken that are not orders yet
	Lent         []int64       // by shard: units lent to buyers who are at home in another
	CameBack     int64         // units of ended orders that went back to the shards since they were loaded
	P99          time.Duration // of the orders accepted in the last seconds; 0 if there was none
	LocksHeld    int64
	LocksWaiting int64
	Instances    []Instance
	SoldOut      *SoldOut // nil while there is a unit, or nothing is known
}

// Instance is one running instance, as of its last heartbeat.
type Instance struct {
	Name    string `json:"name"`
	SoldOut bool   `json:"sold_out"` // it refuses buyers of this coupon without asking Redis
	Self    bool   `json:"self"`     // it is the instance that answers
}

// Auditor compares the stores and repairs them. Its reports are encoded as JSON.
type Auditor interface {
	Audit(ctx context.Context, couponID int64) (any, error)
	Repair(ctx context.Context, couponID int64) (any, error)
}

// Gallery returns the gallery of wrong implementations as JSON, as it is and packed by gzip.
type Gallery func() (text, packed []byte, err error)

// Deps are the dependencies of the routes.
type Deps struct {
	Coupons    Coupons
	Editor     Editor
	Orders     Orders
	Payments   Payments
	Stock      StockReader
	Auditor    Auditor
	SaleStatus SaleStatus
	Draws      Draws        // required if Orders returns Entered orders; without it nothing is drawn
	Unpaid     UnpaidOrders // optional: sold_out tells nothing of them
	Rush       Rush         // optional
	Lab        Lab          // optional
	Prover     auth.Prover  // optional: every buyer is given a purchase token
	Traces     Traces       // optional
	Numbers    OrderNumbers // optional: an order is shown without its number
	Gallery    Gallery      // optional: the page has no gallery
	Design     *Design      // optional: the order service makes the orders
}

// Design names another way to make the orders.
type Design struct {
	Name  string `json:"name"`
	Wrong bool   `json:"wrong"` // it breaks a promise of the sale, as an example
}

// Options are the values that the routes need. A limit of 0 is no limit.
type Options struct {
	Tokens         *auth.Tokens         // required: they make and verify the bearer tokens
	PurchaseTokens *auth.PurchaseTokens // required to buy; nil is none
	DemoLogin      bool                 // POST /sessions returns a user's token to any client
	DemoAdmin      bool                 // and an administrator's
	AdminApart     bool                 // the administrator's routes are AdminRoutes, and Handler knows none of them
	RequestTimeout time.Duration        // the whole budget of one request; 0 is 3 s
	MaxInFlight    int                  // requests at once, event streams aside
	MaxStreams     int                  // event streams at once; 0 is 1024
	// MaxStreamsPerAddress is how many of them one address may have; 0 is no limit.
	MaxStreamsPerAddress int
	PerUserRate          int      // requests per second of one user
	AddressRate          int      // requests per second from one address, and twice as many at once
	SessionRate          int      // POST /sessions per second from one address
	Burst                int      // requests at once of one user, and logins; 0 is the rate itself
	Hosts                []string // that the routes answer to, with any port; nil is all: see LoopbackHosts
	TrustedProxies       []string // CIDRs whose X-Forwarded-For counts

	Log *slog.Logger     // nil is slog.Default
	Now func() time.Time // nil is time.Now
	// Observe is called after every request with its route as the contract spells it,
	// the code of the problem ("" if there was none) and the time that it took. It may
	// be nil.
	Observe func(route, method string, status int, code string, d time.Duration)
	// ObservePurchase is called for every purchase request as well. It may be nil.
	ObservePurchase func(status int, code string, d time.Duration)
	// Trace begins the trace of a request, with which the request goes on, and returns a function that is to be
	// called with its status. It may be nil.
	Trace func(route string, w http.ResponseWriter, r *http.Request) (_ *http.Request, done func(status int))
	// ObserveUnavailable is called for every request that is refused because a store is unavailable,
	// failed, or took too long. It may be nil.
	ObserveUnavailable func(ctx context.Context, route string, err error)
}

// withDefaults returns o with its zero values replaced by defaults.
func (o Options) withDefaults() Options {
	if o.RequestTimeout <= 0 {
		o.RequestTimeout = 3 * time.Second
	}
	if o.MaxStreams <= 0 {
		o.MaxStreams = 1024
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Observe == nil {
		o.Observe = func(string, string, int, string, time.Duration) {}
	}
	if o.ObserveUnavailable == nil {
		o.ObserveUnavailable = func(context.Context, string, error) {}
	}
	if o.ObservePurchase == nil {
		o.ObservePurchase = func(int, string, time.Duration) {}
	}
	return o
}

var errMissingDep = errors.New("api: a dependency is missing")
