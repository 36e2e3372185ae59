package designs

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"example.com/seckill/internal/api"
	"example.com/seckill/internal/app"
	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// shop implements app.Design with a maker. It does for each design the same work before and after it.
type shop struct {
	*stores

	design Design
	maker  maker

	mu      sync.Mutex
	soldOut map[int64]time.Time // when a coupon was sold out
}

func newShop(d app.DesignDeps, design Design) *shop {
	in := newStores(d)
	return &shop{stores: in, design: design, maker: design.make(in), soldOut: map[int64]time.Time{}}
}

// soldOutFor is how long the shop rejects requests from memory after a coupon was sold out. A coupon that has units
// again is sold that much later. Every advocate puts such a mark in front of the database.
const soldOutFor = 100 * time.Millisecond

// Place makes an order, or returns the order that the same Idempotency-Key has made.
func (s *shop) Place(ctx context.Context, r order.Request) (order.Order, error) {
	sale, err := s.Sales.Get(ctx, r.CouponID)
	if err == nil {
		err = sale.CheckPurchasable(s.Now())
	}
	if err != nil {
		return order.Order{}, err
	}
	id, err := s.IDs.Next(ctx)
	if err != nil {
		return order.Order{}, fmt.Errorf("%w: get an order id: %w", order.ErrUnavailable, err)
	}
	now := s.Now().UTC().Truncate(time.Millisecond)
	o := order.Order{
		ID: id, CouponID: sale.ID, UserID: r.UserID, Status: order.Pending, PriceCents: sale.PriceCents,
		RequestID: "r" + strconv.FormatInt(id, 10), CreatedAt: now, ExpiresAt: now.Add(s.PayWithin),
	}
	if r.Key != "" {
		o.RequestID = order.RequestID(r)
	}
	err = coupon.ErrSoldOut
	if !s.isSoldOut(sale.ID) {
		err = s.maker.Make(ctx, sale, o)
	}
	switch {
	case err == nil:
		return o, nil
	case errors.Is(err, coupon.ErrSoldOut):
		s.noteSoldOut(sale.ID)
		err = coupon.ErrSoldOut
	case !errors.Is(err, order.ErrLimitReached) && !errors.Is(err, order.ErrDuplicate):
		return order.Order{}, unavailable(err)
	}
	if r.Key != "" {
		found, missing := s.byRequest(ctx, o)
		if missing == nil {
			return found, nil
		}
	}
	return order.Order{}, err
}

// byRequest returns the order of an earlier attempt of the same request. It looks for the row last, because an accepted
// order becomes a row before it leaves Redis.
func (s *shop) byRequest(ctx context.Context, o order.Order) (order.Order, error) {
	if m, is := s.maker.(acknowledger); is {
		if found, err := m.Accepted(ctx, o.RequestID, o.UserID); !errors.Is(err, order.ErrNotFound) {
			return found, err
		}
	}
	var id int64
	err := s.DB.QueryRowContext(ctx, "SELECT id FROM orders WHERE request_id = ? AND user_id = ?", o.RequestID, o.UserID).Scan(&id)
	if err != nil {
		return order.Order{}, fmt.Errorf("look for the order of a request: %w", err)
	}
	return s.Orders.Get(ctx, id, o.UserID)
}

func (s *shop) isSoldOut(couponID int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.soldOut[couponID]) < soldOutFor
}

// noteSoldOut starts the time of the mark, and does not prolong it.
func (s *shop) noteSoldOut(couponID int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.soldOut[couponID]) >= soldOutFor {
		s.soldOut[couponID] = time.Now()
	}
}

// Get returns an order of the user.
func (s *shop) Get(ctx context.Context, id, userID int64) (order.Order, error) {
	o, err := s.Orders.Get(ctx, id, userID)
	if m, is := s.maker.(acknowledger); is && errors.Is(err, order.ErrNotFound) {
		if o, err = m.Accepted(ctx, orderField(id), userID); errors.Is(err, order.ErrNotFound) {
			return s.Orders.Get(ctx, id, userID) // it has become a row just now
		}
	}
	return o, err
}

// List returns the orders of the user.
func (s *shop) List(ctx context.Context, userID, before int64, limit int) ([]order.Order, error) {
	return s.Orders.List(ctx, userID, before, limit)
}

// Info returns the name of the design for the page.
func (s *shop) Info() api.Design { return api.Design{Name: s.design.Name, Wrong: s.design.Wrong()} }

// Prepare prepares a coupon for its sale.
func (s *shop) Prepare(ctx context.Context, couponID int64) error {
	s.mu.Lock()
	delete(s.soldOut, couponID)
	s.mu.Unlock()
	if m, is := s.maker.(preparer); is {
		return m.Prepare(ctx, couponID)
	}
	return nil
}

// Units returns the units that are not sold and that the coupon's row does not count.
func (s *shop) Units(ctx context.Context, couponID int64) (int64, error) {
	if m, is := s.maker.(unitKeeper); is {
		return m.Units(ctx, couponID)
	}
	return 0, nil
}

// Waiting returns the number of acknowledged requests that have no row.
func (s *shop) Waiting(ctx context.Context, couponID int64) (int64, error) {
	if m, is := s.maker.(acknowledger); is {
		return m.Waiting(ctx, couponID)
	}
	return 0, nil
}

// Close ends the work of the maker.
func (s *shop) Close(ctx context.Context) error {
	if m, is := s.maker.(acknowledger); is {
		return m.Close(ctx)
	}
	return nil
}

// unavailable makes an error of a store one that a client may repeat.
func unavailable(err error) error {
	for _, known := range []error{order.ErrBusy, order.ErrOverloaded, coupon.ErrNotLoaded, coupon.ErrNotFound} {
		if errors.Is(err, known) {
			return err
		}
	}
	return fmt.Errorf("%w: %w", order.ErrUnavailable, err)
}
