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
	// OpenHolds gives what could be read, also with an error.
	OpenHolds(ctx context.Context, couponID int64, shards int) ([]Hold, error)
}

// Settler brings to its end whatever a request, or an instance that died, left
// open. Everything it does may be done by two at once and may be cut off anywhere.
type Settler struct {
	holds   Holds
	stock   Stock
	returns Returns
	locker  Locker
	tx      Transactor
	orders  Orders
	outbox  Outbox
	sales   Sales
	waits   time.Duration
	now     func() time.Time
	log     *slog.Logger
}

// SettlerParts are what a Settler is made of.
type SettlerParts struct {
	Holds   Holds
	Stock   Stock
	Returns Returns
	Locker  Locker
	Tx      Transactor
	Orders  Orders
	Outbox  Outbox
	Sales   Sales
	Waits   time.Duration    // how long a request may be queued: so much older its hold must be
	Now     func() time.Time // nil is time.Now
	Log     *slog.Logger     // nil is slog.Default
}

// NewSettler makes a Settler.
func NewSettler(p SettlerParts) *Settler {
	if p.Now == nil {
		p.Now = time.Now
	}
	if p.Log == nil {
		p.Log = slog.Default()
	}
	return &Settler{
		holds: p.Holds, stock: p.Stock, returns: p.Returns, locker: p.Locker, tx: p.Tx,
		orders: p.Orders, outbox: p.Outbox, sales: p.Sales, waits: p.Waits, now: p.Now, log: p.Log,
	}
}

// batch bounds one pass, so that a long backlog does not keep the other jobs waiting.
const batch = 500

// troubles is how often a pass may find the database away before it gives up: each
// time may cost a whole timeout, and the next pass comes soon. A shard that is away
// does not count, because the others' holds can be settled meanwhile.
const troubles = 3

// errDatabase marks that it was the database that was away.
var errDatabase = errors.New("order: the database is away")

func ofDatabase(err error) error {
	if errors.Is(err, ErrUnavailable) || errors.Is(err, ErrCommitUnknown) {
		return fmt.Errorf("%w: %w", errDatabase, err)
	}
	return err
}

// trouble counts what a pass has met, and is true when it should give up.
type trouble int

func (t *trouble) enough(err error) bool {
	if errors.Is(err, errDatabase) {
		*t++
	}
	return *t >= troubles
}

// Settle ends the coupon's holds that are older than age, and says how many it
// ended. A queued one is first left to its entry for as long as that may wait. A hold
// whose user has a request in progress is left for the next pass.
func (s *Settler) Settle(ctx context.Context, c coupon.Coupon, age time.Duration) (int, error) {
	open, failed := s.holds.OpenHolds(ctx, c.ID, c.Shards)
	settled := 0
	var met trouble
	for _, h := range open {
		if h.Age < age || h.Queued && h.Age < age+s.waits || ctx.Err() != nil {
			continue
		}
		if settled == batch {
			break
		}
		key := fmt.Sprintf("user:%d", h.UserID)
		err := s.locker.Do(ctx, key, func(ctx context.Context, _ *lock.Lease) error {
			return s.settle(ctx, h)
		})
		switch {
		case err == nil:
			settled++
		case !errors.Is(err, lock.ErrNotAcquired):
			failed = fmt.Errorf("settle the hold of order %d: %w", h.OrderID, err)
		}
		if met.enough(err) {
			break
		}
	}
	return settled, failed
}

// settle asks the database what became of the hold, in a way that also decides it:
// after the void order is in, no attempt of the request can commit any more.
func (s *Settler) settle(ctx context.Context, h Hold) error {
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

// Relay hands to the shards every unit that the outbox owes them, and says how
// many it handed over.
func (s *Settler) Relay(ctx context.Context) (int, error) {
	done, after := 0, int64(0)
	var failed error
	var met trouble
	for ctx.Err() == nil {
		due, err := s.outbox.DueReturns(ctx, after, batch)
		if err != nil || len(due) == 0 {
			return done, errors.Join(failed, err)
		}
		for _, r := range due {
			after = r.OrderID
			if err := s.relay(ctx, r); err != nil {
				failed = fmt.Errorf("return the unit of order %d: %w", r.OrderID, err)
				if met.enough(err) {
					return done, failed
				}
				continue
			}
			done++
		}
	}
	return done, errors.Join(failed, ctx.Err())
}

// relay returns the unit first and forgets it after: a crash between the two
// returns it again, which changes nothing.
func (s *Settler) relay(ctx context.Context, r Return) error {
	err := s.returns.Return(ctx, r)
	if errors.Is(err, coupon.ErrNotLoaded) {
		c, cerr := s.sales.Get(ctx, r.CouponID)
		if cerr == nil && c.StateAt(s.now()) == coupon.Ended {
			err = nil // nobody will sell it: the database alone keeps the account of an ended sale
		}
	}
	if err != nil {
		return err
	}
	return ofDatabase(s.outbox.Returned(ctx, r))
}

// Expire ends the pending orders whose time to pay has run out, and says how many.
func (s *Settler) Expire(ctx context.Context) (int, error) {
	now := s.now()
	overdue, err := s.outbox.Overdue(ctx, now, batch)
	if err != nil {
		return 0, err
	}
	done := 0
	var failed error
	var met trouble
	for _, o := range overdue {
		if ctx.Err() != nil {
			break
		}
		expired := false
		err := s.tx.InTx(ctx, func(ctx context.Context, tx Tx) (err error) {
			if expired, err = tx.Expire(ctx, o.ID, o.UserID, now); err != nil || !expired {
				return err
			}
			_, err = tx.GiveBack(ctx, o)
			return err
		})
		switch {
		case err != nil:
			failed = fmt.Errorf("expire order %d: %w", o.ID, err)
		case expired:
			done++
		}
		if met.enough(ofDatabase(err)) {
			break
		}
	}
	return done, errors.Join(failed, ctx.Err())
}
