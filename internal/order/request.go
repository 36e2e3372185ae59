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
	case s.shards.SoldOut(sale.ID, sale.Epoch):
		return coupon.Coupon{}, coupon.ErrSoldOut
	case s.shards.LimitReached(sale, r.UserID):
		return coupon.Coupon{}, ErrLimitReached
	}
	return sale, nil
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

// RequestID returns the name of a request with a Key.
func RequestID(r Request) string { return requestID(r, 0) }

// requestID returns the name of a request. With a key it depends on the user and the key
// alone, so that the same key is the same request; without one each request is new.
func requestID(r Request, orderID int64) string {
	if r.Key == "" {
		return "r" + strconv.FormatInt(orderID, 10)
	}
	sum := sha256.Sum256([]byte(strconv.FormatInt(r.UserID, 10) + ":" + r.Key))
	return "k" + hex.EncodeToString(sum[:20])
}

// reserveRequest returns the request for the unit of an attempt, in mode queue with its entry.
func (s *Service) reserveRequest(a *Attempt) ReserveRequest {
	o := a.Order
	r := ReserveRequest{
		CouponID: o.CouponID, UserID: o.UserID, RequestID: o.RequestID, OrderID: o.ID,
		Limit: a.Sale.LimitPerUser, Epoch: a.Sale.Epoch, Shards: a.Sale.Shards, Context: a.Context, Trace: a.Traceparent,
	}
	if s.queue != nil {
		r.Enqueue, r.QueueCapacity, r.QueueMaxAge, r.QueueUntilEnd = &o, s.queueCapacity, s.queueMaxAge, a.UntilEnd
		if a.onlyHeld {
			r.QueueCapacity = 0 // a full queue takes no new entry, and shows those that it has
		}
	}
	return r
}

// replay returns the order that the same key made before, or is about to make, when the request is refused now;
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
	return s.unfinished(ctx, r, refusal)
}

// unfinished returns what an earlier attempt of a request is about to make, when the request is refused now: its order
// while that is Queued or InDoubt, or ErrBusy. The refusal stands only if no attempt has a unit, and then none that
// began before can make an order without taking one first.
func (s *Service) unfinished(ctx context.Context, r Request, refusal error) (Order, error) {
	sale, err := s.sales.Get(ctx, r.CouponID)
	if err != nil {
		return Order{}, err
	}
	id, err := s.shards.OrderOf(ctx, sale, r.UserID, requestID(r, 0))
	switch {
	case errors.Is(err, ErrNotFound):
		return Order{}, refusal
	case err != nil:
		return Order{}, err
	}
	switch o, err := s.read(ctx, id, r.UserID); {
	case errors.Is(err, ErrNotFound):
		return Order{}, fmt.Errorf("%w: an earlier attempt of this request is in progress", ErrBusy)
	case err != nil:
		return Order{}, err
	case o.Status == Void:
		return Order{}, ErrVoided
	case o.Status == InDoubt:
		return o, ErrCommitUnknown
	default:
		return o, nil
	}
}
