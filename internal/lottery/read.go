package lottery

import (
	"context"
	"errors"
	"sync"
	"time"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// Get returns an order of the user, or what became of a ticket of the user.
func (s *Service) Get(ctx context.Context, id, userID int64) (order.Order, error) {
	if o, err := s.knownTicket(ctx, id, userID); !errors.Is(err, order.ErrNotFound) {
		return o, err
	}
	if o, err := s.orders.Get(ctx, id, userID); !errors.Is(err, order.ErrNotFound) {
		return o, err
	}
	return s.ticket(ctx, id, userID)
}

// List returns the orders of the user, and no tickets.
func (s *Service) List(ctx context.Context, userID, before int64, limit int) ([]order.Order, error) {
	return s.orders.List(ctx, userID, before, limit)
}

// tickets are tickets that this instance has seen, by their ids, which are no order's. So a poll of one asks
// no store before the draw, and afterwards only for its order.
type tickets struct {
	mu  sync.Mutex
	all map[int64]order.Order
}

// maxTickets bounds the tickets that are known, which take some 40 MB then. Others are read from the database.
const maxTickets = 1 << 17

func (k *tickets) put(o order.Order) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.all) >= maxTickets {
		clear(k.all)
	}
	k.all[o.ID] = o
}

// get returns the ticket of the user with this id, if it is known.
func (k *tickets) get(id, userID int64) (order.Order, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	o, known := k.all[id]
	return o, known && o.UserID == userID
}

// ticket returns what became of a ticket.
func (s *Service) ticket(ctx context.Context, id, userID int64) (order.Order, error) {
	o, err := s.store.Entrant(ctx, id, userID)
	if err != nil {
		return order.Order{}, err
	}
	s.tickets.put(o)
	sale, err := s.sales.Get(ctx, o.CouponID)
	if err != nil {
		return order.Order{}, err
	}
	return s.resultOfTicket(ctx, sale, o)
}

// knownTicket is ticket for one that this instance has seen, and order.ErrNotFound for others and once its sale
// has ended so long ago that it may be archived.
func (s *Service) knownTicket(ctx context.Context, id, userID int64) (order.Order, error) {
	o, known := s.tickets.get(id, userID)
	if !known {
		return order.Order{}, order.ErrNotFound
	}
	sale, err := s.sales.Get(ctx, o.CouponID)
	switch {
	case err != nil:
		return order.Order{}, err
	case !s.now().Before(sale.EndsAt.Add(coupon.Retention)):
		return order.Order{}, order.ErrNotFound
	}
	return s.resultOfTicket(ctx, sale, o)
}

// resultOfTicket returns the order of a ticket, or the ticket as long as it has none.
func (s *Service) resultOfTicket(ctx context.Context, sale coupon.Coupon, o order.Order) (order.Order, error) {
	d, err := s.draw(ctx, sale) // before its order, which is there when the draw has ended
	switch {
	case err != nil:
		return order.Order{}, err
	case d.BegunAt.IsZero():
		return s.showTicket(sale, o), nil
	}
	found, err := s.rows.ByRequest(ctx, o.RequestID, o.UserID)
	void := false
	switch {
	case errors.Is(err, order.ErrNotFound):
	case err != nil:
		return order.Order{}, err
	case found.CouponID == o.CouponID && found.Status != order.Void:
		return found, nil
	default: // another attempt at the ticket decides
		second, ticket, err := s.orderOfUser(ctx, o.CouponID, o.UserID)
		if err != nil || ticket.Sold {
			return second, err
		}
		void = ticket.Void
	}
	switch {
	case d.EndedAt.IsZero():
		return s.showTicket(sale, o), nil
	case void:
		o.Status = order.Void
	default:
		o.Status = NotDrawn
	}
	o.PriceCents = sale.PriceCents
	return o, nil
}

// ReadDraw returns the draw of a coupon and the time of the draw. It returns order.ErrNotFound if no instance has made
// a draw for the coupon, and makes none: a reader must not be able to write.
func (s *Service) ReadDraw(ctx context.Context, couponID int64) (d Draw, drawsAt time.Time, err error) {
	sale, err := s.sales.Get(ctx, couponID)
	if err != nil {
		return Draw{}, time.Time{}, err
	}
	if s.draws.missing(couponID, s.now(), drawRefresh) {
		return Draw{}, time.Time{}, order.ErrNotFound
	}
	d, err = s.draw(ctx, sale)
	return d, s.drawsAt(sale), err
}

// DrawsAt returns the time of the draw of a coupon.
func (s *Service) DrawsAt(ctx context.Context, couponID int64) (time.Time, error) {
	sale, err := s.sales.Get(ctx, couponID)
	if err != nil {
		return time.Time{}, err
	}
	return s.drawsAt(sale), nil
}
