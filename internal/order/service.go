package order

import (
	"context"
	"log/slog"
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
