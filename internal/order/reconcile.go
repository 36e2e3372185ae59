package order

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"seckill/internal/coupon"
	"seckill/internal/lock"
)

// Holds lists what the shards hold for requests that are still open.
type Holds interface {
	// OldHolds returns up to most of a shard's holds that are older than age, the oldest
	// first, without the first skip of them. A queued hold begins to grow old when its
	// entry has waited for as long as it may.
	OldHolds(ctx context.Context, c coupon.Coupon, shard int, age time.Duration, skip, most int) ([]Hold, error)
}

// Reconciler brings to its end whatever a request, or an instance that died, left
// open. Everything it does may be done by two at once and may be cut off anywhere.
type Reconciler struct {
	holds     Holds
	stock     Stock
	restocker Restocker
	locker    Locker
	tx        Transactor
	orders    Orders
	outbox    Outbox
	sales     Sales
	now       func() time.Time
	log       *slog.Logger
}

// ReconcilerDeps are what a Reconciler is made of.
type ReconcilerDeps struct {
	Holds     Holds
	Stock     Stock
	Restocker Restocker
	Locker    Locker
	Tx        Transactor
	Orders    Orders
	Outbox    Outbox
	Sales     Sales
	Now       func() time.Time // nil is time.Now
	Log       *slog.Logger     // nil is slog.Default
}

// NewReconciler makes a Reconciler.
func NewReconciler(p ReconcilerDeps) *Reconciler {
	if p.Now == nil {
		p.Now = time.Now
	}
	if p.Log == nil {
		p.Log = slog.Default()
	}
	return &Reconciler{
		holds: p.Holds, stock: p.Stock, restocker: p.Restocker, locker: p.Locker, tx: p.Tx,
		orders: p.Orders, outbox: p.Outbox, sales: p.Sales, now: p.Now, log: p.Log,
	}
}

// batch bounds one pass, so that a long backlog does not keep the other jobs waiting.
const batch = 500

// troubles is how often a pass may find the database away before it gives up: each
// time may cost a whole timeout, and the next pass comes soon. A shard that is away
// does not count, because the others' holds can be reconciled meanwhile.
const maxDBFailures = 3

// errDatabase marks that it was the database that was away.
var errDatabase = errors.New("order: the database is away")

func ofDatabase(err error) error {
	if errors.Is(err, ErrUnavailable) || errors.Is(err, ErrCommitUnknown) {
		return fmt.Errorf("%w: %w", errDatabase, err)
	}
	return err
}

// trouble counts what a pass has met, and is true when it should give up.
type dbFailures int

func (t *dbFailures) enough(err error) bool {
	if errors.Is(err, errDatabase) {
		*t++
	}
	return *t >= maxDBFailures
}

// Reconcile ends the coupon's holds that are older than age, and says how many it ended. A
// hold whose user has a request in progress is left for the next pass.
func (s *Reconciler) Reconcile(ctx context.Context, c coupon.Coupon, age time.Duration) (int, error) {
	done := 0
	var failed error
	var met dbFailures
	for shard := range c.Shards {
		n, err := s.reconcileShard(ctx, c, shard, age, batch-done, &met)
		done += n
		if err != nil {
			failed = err
		}
		if done == batch || met.enough(nil) || ctx.Err() != nil {
			break
		}
	}
	return done, failed
}

// reconcilePage is how many old holds are read at once.
const reconcilePage = 100

// reconcileShard ends up to most holds of a shard. Those that cannot be ended now are passed
// over, so that they keep none behind them waiting.
func (s *Reconciler) reconcileShard(
	ctx context.Context, c coupon.Coupon, shard int, age time.Duration, most int, met *dbFailures,
) (done int, failed error) {
	for skip := 0; ; {
		old, err := s.holds.OldHolds(ctx, c, shard, age, skip, reconcilePage)
		if err != nil {
			return done, err
		}
		if len(old) == 0 {
			return done, failed
		}
		for _, h := range old {
			if done == most || ctx.Err() != nil {
				return done, failed
			}
			err := s.locker.Do(ctx, lock.UserKey(h.UserID), func(ctx context.Context, _ *lock.Lease) error {
				return s.reconcileHold(ctx, h)
			})
			if err == nil {
				done++
				continue
			}
			skip++
			if !errors.Is(err, lock.ErrNotAcquired) {
				failed = fmt.Errorf("reconcile the hold of order %d: %w", h.OrderID, err)
			}
			if met.enough(err) {
				return done, failed
			}
		}
	}
}

// reconcileHold asks the database what became of the hold, in a way that also decides it:
// after the void order is in, no attempt of the request can commit any more.
func (s *Reconciler) reconcileHold(ctx context.Context, h Hold) error {
	// Attempt 0: every share of the hold ends.
	h.Attempt = 0
	err := s.orders.Void(ctx, Order{
		ID: h.OrderID, CouponID: h.CouponID, UserID: h.UserID, Status: Void,
		RequestID: h.RequestID, Shard: h.Shard, CreatedAt: s.now(), ExpiresAt: s.now(),
	})
	if err == nil {
		return s.stock.Release(ctx, h)
	}
	if !errors.Is(err, ErrDuplicate) {
		return ofDatabase(err)
	}
	o, err := s.orders.ByRequest(ctx, h.RequestID, h.UserID)
	switch {
	case err == nil && o.Status != Void && o.ID == h.OrderID:
		return s.stock.Confirm(ctx, h)
	case err != nil && !errors.Is(err, ErrNotFound): // not found: the duplicate is of the id, which no request can use
		return ofDatabase(err)
	}
	return s.stock.Release(ctx, h)
}
