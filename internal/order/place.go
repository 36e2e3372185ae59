package order

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"

	"seckill/internal/coupon"
	"seckill/internal/lock"
)

// Request is one user's wish for one unit.
type Request struct {
	CouponID int64
	UserID   int64
	Key      string // the client's idempotency key; empty if it sent none
}

// Place sells the user one unit and gives the order, after its commit.
//
// The same user asking again with the same key gets the same order, however often
// and whatever has become of the sale since. ErrCommitUnknown comes with the order
// as it will be, if it will be.
func (s *Service) Place(ctx context.Context, r Request) (Order, error) {
	o, err := s.place(ctx, r)
	if errors.Is(err, ErrStaleEpoch) {
		// The stock was loaded again under this request: its hold is gone with the
		// old epoch, its transaction was refused, and it may ask once more.
		s.sales.Forget(r.CouponID)
		o, err = s.place(ctx, r)
	}
	if err == nil || errors.Is(err, ErrCommitUnknown) || r.Key == "" {
		return o, err
	}
	return s.replay(ctx, r, err)
}

// place is the order of things. Everything that can refuse a request cheaply comes
// before anything that costs, and nothing is given back before it is certain that
// it was not sold.
func (s *Service) place(ctx context.Context, r Request) (o Order, err error) {
	sale, err := s.sales.Get(ctx, r.CouponID)
	if err != nil {
		return Order{}, err
	}
	if err := sale.Admits(s.now()); err != nil {
		return Order{}, err
	}
	if s.stock.SoldOut(sale.ID, sale.Epoch) {
		return Order{}, coupon.ErrSoldOut
	}
	ctx, cancel := s.withWorkDeadline(ctx)
	defer cancel()
	leave, err := s.admission.Admit(ctx)
	if err != nil {
		return Order{}, err
	}
	defer func() { leave(err == nil) }()

	if o, err = s.newOrder(ctx, sale, r); err != nil {
		return Order{}, err
	}
	if s.queue != nil {
		return s.enqueue(ctx, sale, o) // the other page: queue.go
	}

	hold, err := s.stock.Reserve(ctx, reserveRequest(o, sale))
	if err != nil {
		return Order{}, err
	}
	o.ID, o.Shard = hold.OrderID, hold.Shard
	o, err = s.sell(ctx, sale, o)
	return s.closeHold(ctx, hold, o, err)
}

// sell makes the order out of its hold, inside the user's lock, and gives it as it was
// committed: o, or the one that its request had from before.
func (s *Service) sell(ctx context.Context, sale coupon.Coupon, o Order) (Order, error) {
	err := s.locked(ctx, o, func(ctx context.Context, fence uint64) error {
		return s.resolveOutcome(ctx, &o, s.tx.InTx(ctx, func(ctx context.Context, tx Tx) error {
			if err := tx.Fence(ctx, o.UserID, fence); err != nil {
				return err
			}
			slot, err := tx.FreeSlot(ctx, o.CouponID, o.UserID, sale.LimitPerUser)
			if err != nil {
				return err
			}
			o.Slot, o.Fence = slot, fence
			if err := tx.Insert(ctx, o); err != nil {
				return err
			}
			// The hot row last, so that the other buyers wait for it as short as can be.
			return tx.TakeOne(ctx, o.CouponID, sale.Epoch)
		}))
	})
	return o, err
}

// locked runs work inside the user's lock, and once more if the database had seen
// a larger fence than this fresh lease was given: the lock's counter had fallen
// behind, as after a failover to a slower clock, and is lifted above it first.
func (s *Service) locked(ctx context.Context, o Order, work func(ctx context.Context, fence uint64) error) error {
	key := fmt.Sprintf("user:%d", o.UserID)
	do := func() error {
		return s.locker.Do(ctx, key, func(ctx context.Context, lease *lock.Lease) error {
			err := work(ctx, lease.Fence())
			if errors.Is(err, context.Canceled) {
				err = fmt.Errorf("%w: %w", context.Cause(ctx), err) // it may be the lease that ended
			}
			return err
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

// lockError says in this package's words that the lock could not be had.
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

// earlier looks for the order that the same key made before, when the request was
// refused now. Without one the refusal stands. That a store is away is no refusal: the
// client asks again, and a crowd that comes while Redis is away must not fall upon the
// database. No more must one that was refused because there are too many.
func (s *Service) replay(ctx context.Context, r Request, refusal error) (Order, error) {
	if errors.Is(refusal, ErrUnavailable) || errors.Is(refusal, ErrOverloaded) || errors.Is(refusal, coupon.ErrNotFound) ||
		errors.Is(refusal, ErrVoided) || errors.Is(refusal, ErrKeyReused) {
		return Order{}, refusal
	}
	o, err := s.resultOf(ctx, requestID(r, 0), r.CouponID, r.UserID)
	if errors.Is(err, ErrNotFound) {
		return Order{}, refusal
	}
	return o, err
}
