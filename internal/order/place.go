package order

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/lock"
)

// Request asks for one unit for one user.
type Request struct {
	CouponID int64
	UserID   int64
	Key      string // the client's idempotency key; empty if it sent none
	Permit   Permit
}

// Permit bounds the sale and the time in which a Request may become an order, as a purchase token says.
// The zero Permit does not bound them. An order that a Request has become is found without one.
type Permit struct {
	BeginsAt time.Time // of the sale
	Until    time.Time
}

func (p Permit) admits(sale coupon.Coupon, now time.Time) error {
	switch {
	case p.Until.IsZero():
		return nil
	case p.BeginsAt.UnixMilli() != sale.BeginsAt.UnixMilli():
		return ErrOtherSale
	case !now.Before(p.Until):
		return ErrPermitExpired
	}
	return nil
}

// Place sells the user one unit and returns the order after its commit, or, if the
// Service has a Queue, the Queued order after its reservation.
//
// A repeated Request with the same Key returns the same order, however often it is
// repeated and whatever has become of the sale since. With ErrCommitUnknown it returns the
// order as it is if it was committed.
func (s *Service) Place(ctx context.Context, r Request) (Order, error) {
	return s.placeWith(ctx, r, s.Take)
}

// placeWith is Place with the given Step.
func (s *Service) placeWith(ctx context.Context, r Request, step Step) (Order, error) {
	o, err := s.place(ctx, r, step)
	if errors.Is(err, ErrStaleEpoch) {
		// The stock was loaded again under this request: its hold is gone with the
		// old epoch, its transaction was refused, and it may ask once more.
		s.sales.Forget(r.CouponID)
		o, err = s.place(ctx, r, step)
	}
	if err == nil || errors.Is(err, ErrCommitUnknown) || r.Key == "" {
		return o, err
	}
	return s.replay(ctx, r, err)
}

// place does the steps in their order. Whatever can refuse a request cheaply comes before
// anything that costs, and no unit is released before it is certain that it was not sold.
func (s *Service) place(ctx context.Context, r Request, step Step) (Order, error) {
	sale, err := s.open(ctx, r)
	if err != nil {
		return Order{}, err
	}
	return s.placeIn(ctx, sale, r, step)
}

// open returns the sale that the request may buy from, as far as this instance knows.
func (s *Service) open(ctx context.Context, r Request) (coupon.Coupon, error) {
	sale, err := s.sales.Get(ctx, r.CouponID)
	if err != nil {
		return coupon.Coupon{}, err
	}
	now := s.now()
	if err := sale.Admits(now); err != nil {
		return coupon.Coupon{}, err
	}
	if err := r.Permit.admits(sale, now); err != nil {
		return coupon.Coupon{}, err
	}
	switch {
	case s.stock.SoldOut(sale.ID, sale.Epoch):
		return coupon.Coupon{}, coupon.ErrSoldOut
	case s.stock.LimitReached(sale, r.UserID):
		return coupon.Coupon{}, ErrLimitReached
	}
	return sale, nil
}

// placeIn does the steps that take something, if it is only a place among those that are admitted.
func (s *Service) placeIn(ctx context.Context, sale coupon.Coupon, r Request, step Step) (o Order, err error) {
	ctx = s.workContext(ctx)
	release, err := s.admission.Admit(ctx)
	if err != nil {
		return Order{}, err
	}
	defer func() { release(err == nil) }()

	if o, err = s.newOrder(ctx, sale, r); err != nil {
		return Order{}, err
	}
	return step(ctx, sale, o)
}

// placeAlone does what costs something, for one order.
func (s *Service) placeAlone(ctx context.Context, sale coupon.Coupon, o Order) (Order, error) {
	ctx, cancel := withTimer(ctx)
	defer cancel()
	hold, err := s.stock.Reserve(ctx, reserveRequest(o, sale))
	if err != nil {
		return Order{}, err
	}
	o.ID, o.Shard = hold.OrderID, hold.Shard
	return s.sellHold(ctx, sale, hold, o)
}

// sellHold makes the order of a hold, and closes the hold as the outcome says.
func (s *Service) sellHold(ctx context.Context, sale coupon.Coupon, hold Hold, o Order) (Order, error) {
	o, err := s.sell(ctx, sale, o)
	return s.closeHold(ctx, hold, o, err)
}

// sell commits the order of a hold inside the user's lock: Single.Place in placement.go shows
// what is done between BEGIN and COMMIT. It returns the order as it was committed: o, or
// the one that the request already had.
//
// resolveOutcome runs inside the lock, because until the outcome is known another request
// of the user must not begin; if it stays unknown, the lock is not released but expires.
// closeHold, in place, runs outside: it depends on that outcome alone, and the user's next
// request need not wait for it.
func (s *Service) sell(ctx context.Context, sale coupon.Coupon, o Order) (Order, error) {
	err := s.locked(ctx, o, func(ctx context.Context, fence uint64) (err error) {
		o.Fence = fence
		o.Slot, err = s.committer.Place(ctx, placementOf(o, sale))
		return s.resolveOutcome(ctx, &o, err)
	})
	return o, err
}

// locked runs work inside the user's lock. If the database has seen a larger fence than
// that of this fresh lease, the lock's counter has fallen behind, as after a failover to a
// slower clock: locked raises it above that fence and runs work once more.
func (s *Service) locked(ctx context.Context, o Order, work func(ctx context.Context, fence uint64) error) error {
	key := lock.UserKey(o.UserID)
	do := func() error {
		return s.locker.Do(ctx, key, func(ctx context.Context, lease *lock.Lease) error {
			return withCause(work(ctx, lease.Fence()), ctx) // the lease may be what ended
		})
	}
	err := do()
	if stale, ok := errors.AsType[*StaleFenceError](err); ok {
		if raised := s.locker.Raise(ctx, key, stale.Seen); raised != nil {
			return lockError(errors.Join(err, raised))
		}
		err = do()
	}
	return lockError(err)
}

// withCause wraps the error of a call that was cancelled in the cause of the first of all
// that has ended.
func withCause(err error, all ...context.Context) error {
	if !errors.Is(err, context.Canceled) {
		return err
	}
	for _, ctx := range all {
		if ctx.Err() != nil {
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
	}
	return err
}

// lockError wraps an error of the lock in the error of this package that it means.
func lockError(err error) error {
	switch {
	case err == nil, errors.Is(err, ErrCommitUnknown):
		return err
	case errors.Is(err, lock.ErrNotAcquired):
		return fmt.Errorf("%w: %w", ErrBusy, err)
	case errors.Is(err, lock.ErrUnavailable), errors.Is(err, lock.ErrClosed),
		errors.Is(err, lock.ErrLost), errors.Is(err, ErrStaleFence):
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return err
}

// newOrder returns the order that the request makes, if it makes one.
func (s *Service) newOrder(ctx context.Context, sale coupon.Coupon, r Request) (Order, error) {
	id, err := s.ids.Next(ctx)
	if err != nil {
		return Order{}, fmt.Errorf("%w: get an order id: %w", ErrUnavailable, err)
	}
	// The database keeps milliseconds: an order is the same when it is made and when it
	// is read.
	now := s.now().UTC().Truncate(time.Millisecond)
	return Order{
		ID: id, CouponID: sale.ID, UserID: r.UserID, Status: Pending, PriceCents: sale.PriceCents,
		RequestID: requestID(r, id), CreatedAt: now, ExpiresAt: now.Add(s.payWithin),
	}, nil
}

// requestID returns the name of a request. With a key it depends on the user and the key
// alone, so that the same key is the same request; without one each request is new.
func requestID(r Request, orderID int64) string {
	if r.Key == "" {
		return "r" + strconv.FormatInt(orderID, 10)
	}
	sum := sha256.Sum256([]byte(strconv.FormatInt(r.UserID, 10) + ":" + r.Key))
	return "k" + hex.EncodeToString(sum[:20])
}

// reserveRequest returns the request for the unit that o is to be made of.
func reserveRequest(o Order, sale coupon.Coupon) ReserveRequest {
	return ReserveRequest{
		CouponID: o.CouponID, UserID: o.UserID, RequestID: o.RequestID, OrderID: o.ID,
		Limit: sale.LimitPerUser, Epoch: sale.Epoch, Shards: sale.Shards,
	}
}

// replay returns the order that the same key made before, when the request is refused now;
// without one the refusal stands. It reads nothing when a store is unavailable or too many
// orders are in progress: the client repeats such a request, and the load of a sale must
// not fall upon the database because Redis is away.
func (s *Service) replay(ctx context.Context, r Request, refusal error) (Order, error) {
	if errors.Is(refusal, ErrUnavailable) || errors.Is(refusal, ErrOverloaded) || errors.Is(refusal, coupon.ErrNotFound) ||
		errors.Is(refusal, ErrVoided) || errors.Is(refusal, ErrKeyReused) {
		return Order{}, refusal
	}
	o, err := s.resultOf(ctx, requestID(r, 0), r.CouponID, r.UserID)
	switch {
	case !errors.Is(err, ErrNotFound):
		return o, err
	case errors.Is(refusal, ErrDuplicate):
		// Redis knows an order that the database does not: that was set back, and the epoch
		// is about to end. The next one knows no such request.
		return Order{}, fmt.Errorf("%w: the request is known and its order is not to be found", ErrUnavailable)
	}
	return Order{}, refusal
}
