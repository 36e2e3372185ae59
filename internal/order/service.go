package order

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"seckill/internal/coupon"
	"seckill/internal/lock"
)

// Sales is what is on sale, as this instance knows it.
type Sales interface {
	Get(ctx context.Context, couponID int64) (coupon.Coupon, error)
	Forget(couponID int64)
}

// Locker runs work inside a distributed lock. *lock.Locker is one.
type Locker interface {
	Do(ctx context.Context, key string, work func(ctx context.Context, lease *lock.Lease) error, opts ...lock.Option) error
	// Raise lifts the fence counter of key above a fence that the database has seen.
	Raise(ctx context.Context, key string, above uint64) error
}

// IDs makes order ids, unique in the fleet.
type IDs interface {
	Next(ctx context.Context) (int64, error)
}

// Admission lets as many orders be made at once as the stores serve well. It stands
// behind what refuses a request for nothing, and before all that costs.
type Admission interface {
	// Admit waits for a place. Who has one leaves it, and says whether it bought: only
	// then does the time that it took tell how the stores do. ErrOverloaded if there is
	// no place in time; the error of ctx if that ended first.
	Admit(ctx context.Context) (leave func(bought bool), err error)
}

// everybody is the Admission of a Service that was given none.
type admitAll struct{}

func (admitAll) Admit(context.Context) (func(bool), error) { return func(bool) {}, nil }

// Deps are what a Service is made of.
type Deps struct {
	Admission     Admission // nil lets everybody in
	Sales         Sales
	Stock         Stock
	Unresolved    UnresolvedOrders
	Restocker     Restocker
	Locker        Locker
	Tx            Transactor
	Orders        Orders
	IDs           IDs
	Queue         Queue            // nil: an order is committed before its answer
	QueueCapacity int              // entries that a shard's queue may have
	QueueMaxAge   time.Duration    // how long an entry may wait there
	PayWithin     time.Duration    // how long a pending order awaits its payment
	Cleanup       time.Duration    // bounds what must be done although the request is over
	Now           func() time.Time // nil is time.Now
	Log           *slog.Logger     // nil is slog.Default
}

// Service is the order service.
type Service struct {
	admission     Admission
	sales         Sales
	stock         Stock
	unresolved    UnresolvedOrders
	restocker     Restocker
	locker        Locker
	tx            Transactor
	orders        Orders
	ids           IDs
	queue         Queue
	queueCapacity int
	queueMaxAge   time.Duration
	woken         chan struct{} // something was queued here
	rate          queueRate     // of the queues
	payWithin     time.Duration
	cleanupIn     time.Duration
	now           func() time.Time
	log           *slog.Logger
}

// NewService makes the order service.
func NewService(p Deps) *Service {
	if p.Now == nil {
		p.Now = time.Now
	}
	if p.Log == nil {
		p.Log = slog.Default()
	}
	if p.Admission == nil {
		p.Admission = admitAll{}
	}
	return &Service{
		admission: p.Admission,
		sales:     p.Sales, stock: p.Stock, unresolved: p.Unresolved, restocker: p.Restocker, locker: p.Locker,
		tx: p.Tx, orders: p.Orders, ids: p.IDs,
		queue: p.Queue, queueCapacity: p.QueueCapacity, queueMaxAge: p.QueueMaxAge, woken: make(chan struct{}, 1),
		payWithin: p.PayWithin, cleanupIn: p.Cleanup, now: p.Now, log: p.Log,
	}
}

// newOrder is the order that the request will make, if it makes one.
func (s *Service) newOrder(ctx context.Context, sale coupon.Coupon, r Request) (Order, error) {
	id, err := s.ids.Next(ctx)
	if err != nil {
		return Order{}, fmt.Errorf("%w: no order id: %w", ErrUnavailable, err)
	}
	// Milliseconds, because that is what the database keeps: an order looks the
	// same when it is made and when it is read.
	now := s.now().UTC().Truncate(time.Millisecond)
	return Order{
		ID: id, CouponID: sale.ID, UserID: r.UserID, Status: Pending, PriceCents: sale.PriceCents,
		RequestID: requestID(r, id), CreatedAt: now, ExpiresAt: now.Add(s.payWithin),
	}, nil
}

// requestID names a request. With a key it depends on the user and the key alone,
// so that the same key is the same request; without one each request is new.
func requestID(r Request, orderID int64) string {
	if r.Key == "" {
		return "r" + strconv.FormatInt(orderID, 10)
	}
	sum := sha256.Sum256([]byte(strconv.FormatInt(r.UserID, 10) + ":" + r.Key))
	return "k" + hex.EncodeToString(sum[:20])
}

// claim asks for the unit that o is to be made of.
func reserveRequest(o Order, sale coupon.Coupon) ReserveRequest {
	return ReserveRequest{
		CouponID: o.CouponID, UserID: o.UserID, RequestID: o.RequestID, OrderID: o.ID,
		Limit: sale.LimitPerUser, Epoch: sale.Epoch, Shards: sale.Shards,
	}
}

// Get reads an order of the user. An order in doubt is one whose outcome no
// database row tells yet; while the tickets cannot be read, nothing is said to be
// not found.
func (s *Service) Get(ctx context.Context, id, userID int64) (Order, error) {
	o, err := s.orders.Get(ctx, id, userID)
	if !errors.Is(err, ErrNotFound) {
		return o, err
	}
	o, err = s.unresolved.Unresolved(ctx, id)
	switch {
	case errors.Is(err, ErrNotFound):
		return s.orders.Archived(ctx, id, userID)
	case err != nil:
		return Order{}, err
	}
	if o.UserID != userID {
		return Order{}, ErrNotFound
	}
	if o.Status == Queued {
		return s.queuePosition(ctx, o)
	}
	return s.resolveInDoubt(ctx, o, s.now().Sub(o.CreatedAt) >= inDoubtTimeout)
}

// inDoubtTimeout is after which an order in doubt that is asked for is given up. Nothing
// depends on it but that a slow commit may be waited for.
const inDoubtTimeout = 30 * time.Second

// doubtful says what is known of an order that has a ticket and no row of its id:
// the order that its request had from before, or Void if it can never be one. An old
// doubt is ended here: its hold may be gone with an older epoch, and then there is
// nothing that the reconciler would find.
func (s *Service) resolveInDoubt(ctx context.Context, o Order, old bool) (Order, error) {
	found, err := s.resultOf(ctx, o.RequestID, o.CouponID, o.UserID)
	if errors.Is(err, ErrNotFound) && old {
		if err = s.orders.Void(ctx, o); err != nil && !errors.Is(err, ErrDuplicate) {
			return Order{}, err
		}
		found, err = s.resultOf(ctx, o.RequestID, o.CouponID, o.UserID)
	}
	switch {
	case errors.Is(err, ErrNotFound):
		o.Status = InDoubt
	case errors.Is(err, ErrVoided), errors.Is(err, ErrKeyReused):
		o.Status, o.Slot = Void, 0
	default:
		return found, err
	}
	return o, nil
}

// List reads up to limit orders of the user with an id below before (0 is no
// bound), newest first.
func (s *Service) List(ctx context.Context, userID, before int64, limit int) ([]Order, error) {
	return s.orders.List(ctx, userID, before, limit)
}
