package order

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/platform/gather"
)

// Sales knows the coupons on sale, as this instance has last seen them.
type Sales interface {
	Get(ctx context.Context, couponID int64) (coupon.Coupon, error)
	Invalidate(couponID int64)
}

// Locker runs work inside a distributed lock. *lock.Locker implements it.
type Locker interface {
	Do(ctx context.Context, key string, work func(ctx context.Context, lease *lock.Lease) error, opts ...lock.Option) error
	// DoMany runs work once, inside the locks of those of keys that are free.
	DoMany(ctx context.Context, keys []string, work func(ctx context.Context, leases []*lock.Lease) []error, opts ...lock.Option) []error
	// AdvanceFence sets the fence counter of key above a fence that the database has seen.
	AdvanceFence(ctx context.Context, key string, above uint64) error
}

// IDs makes order ids that are unique among all instances.
type IDs interface {
	Next(ctx context.Context) (int64, error)
}

// Admission limits the orders in progress to the number that the stores serve well. It comes
// after the checks that cost nothing and before everything that costs.
type Admission interface {
	// Admit blocks until a permit is free. The caller must call release when it is done, and
	// report whether an order was placed: only those feed the latency estimate. Admit
	// returns ErrOverloaded if no permit is free in time, and the error of ctx if that ended
	// first.
	Admit(ctx context.Context) (release func(placed bool), err error)
}

// admitAll is the Admission of a Service without one.
type admitAll struct{}

func (admitAll) Admit(context.Context) (func(bool), error) { return func(bool) {}, nil }

// Deps are the dependencies of a Service.
type Deps struct {
	Admission      Admission // nil admits every request
	Sales          Sales
	Shards         Shards
	DB             Database
	Locker         Locker
	Committer      Committer
	Hooks          []Hook // around the steps; the first is the outermost
	BatchSize      int    // attempts that take the steps together at most; up to 1: each by itself
	IDs            IDs
	Queue          Queue            // nil: an order is committed before its request is answered
	QueueCapacity  int              // entries that the queue of a shard holds at most
	QueueMaxAge    time.Duration    // how long an entry may wait there
	HeldPolls      int              // polls of queued orders that are held at once at most
	PaymentTimeout time.Duration    // how long a pending order awaits its payment
	Cleanup        time.Duration    // bounds the cleanup after the request is over
	Now            func() time.Time // nil is time.Now
	Log            *slog.Logger     // nil is slog.Default
}

// Service is the order service.
type Service struct {
	admission      Admission
	sales          Sales
	shards         Shards
	db             Database
	locker         Locker
	committer      Committer
	hooks          []Hook
	batches        *gather.Gatherer[*Attempt] // nil: each attempt goes by itself
	ids            IDs
	queue          Queue
	queueCapacity  int
	queueMaxAge    time.Duration
	queued         *busyQueues
	rate           queueRate // of the queues
	polls          *polls    // nil without a queue
	paymentTimeout time.Duration
	cleanupIn      time.Duration
	now            func() time.Time
	log            *slog.Logger
}

// NewService returns the order service.
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
	s := &Service{
		admission: p.Admission, sales: p.Sales, shards: p.Shards, db: p.DB, locker: p.Locker,
		committer: p.Committer, hooks: p.Hooks, ids: p.IDs,
		queue: p.Queue, queueCapacity: p.QueueCapacity, queueMaxAge: p.QueueMaxAge, queued: newBusyQueues(),
		paymentTimeout: p.PaymentTimeout, cleanupIn: p.Cleanup, now: p.Now, log: p.Log,
	}
	if s.queue != nil {
		s.polls = newPolls(p.HeldPolls)
	}
	if p.BatchSize > 1 {
		steps := s.place
		if s.queue != nil {
			steps = s.queueUp
		}
		s.batches = s.newGatherer(p.BatchSize, steps)
	}
	return s
}

// Step is a step of place.go that hooks are called around.
type Step string

// The steps, in their order. StepWork is inside StepLock, and StepCommit inside StepWork.
const (
	StepReserve Step = "reserve"
	StepLock    Step = "lock" // from the request for the locks until they are released
	StepWork    Step = "work" // the locks are held
	StepCommit  Step = "commit"
	StepConfirm Step = "confirm"
	StepRelease Step = "release"
)

// Hook is called around each step, with all attempts that take the step together. It calls do once, or lets the step
// fail without do. After do, Err of each attempt is the outcome of the step, and HoldErr is that of StepConfirm and
// StepRelease. A hook may set them, as if the reply of the step was lost. The context goes to the inner hooks, and to
// the steps inside the step.
type Hook func(ctx context.Context, step Step, all []*Attempt, do func(ctx context.Context))

// step does a step inside the hooks, of which the first is the outermost. Without attempts there is no step.
func (s *Service) step(ctx context.Context, step Step, all attempts, do func(ctx context.Context)) {
	if len(all) == 0 {
		return
	}
	for _, hook := range slices.Backward(s.hooks) {
		inner := do
		do = func(ctx context.Context) { hook(ctx, step, all, inner) }
	}
	do(ctx)
}
