package lottery

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// drawsAt returns when the tickets of a sale are drawn: after the window, but not after half of the sale.
func (s *Service) drawsAt(sale coupon.Coupon) time.Time {
	return sale.BeginsAt.Add(min(s.window, sale.EndsAt.Sub(sale.BeginsAt)/2))
}

// Place enters the user in the draw, and returns the ticket as an Entered order. Once the draw has ended, the order
// service places the order.
func (s *Service) Place(ctx context.Context, r order.Request) (order.Order, error) {
	return s.orders.PlaceWith(ctx, r, s.enter)
}

// enter implements order.Answerer. It answers with a ticket, or queues the request once the draw has ended. While
// tickets are drawn it refuses a request without a ticket, which may be repeated.
func (s *Service) enter(ctx context.Context, sale coupon.Coupon, o order.Order) (order.Order, error) {
	d, err := s.draw(ctx, sale)
	if err != nil {
		return order.Order{}, err
	}
	if !d.EndedAt.IsZero() {
		if err := s.mayBuyAfterDraw(ctx, o); err != nil {
			return order.Order{}, err
		}
		return s.orders.Take(ctx, sale, o)
	}
	if d.BegunAt.IsZero() {
		ticket, err := s.store.Enter(ctx, o)
		switch {
		case err == nil && ticket.RequestID != o.RequestID:
			return order.Order{}, order.ErrLimitReached
		case err == nil:
			s.tickets.put(ticket)
			return s.showTicket(sale, ticket), nil
		case !errors.Is(err, ErrDrawn):
			return order.Order{}, err
		}
	}
	return order.Order{}, fmt.Errorf("%w: %w", order.ErrOverloaded, ErrDrawn)
}

// mayBuyAfterDraw rejects the request of a ticket that was not drawn. Units that are added or come back later go to
// new requests, because an order of the old request would pass over every rank before it.
func (s *Service) mayBuyAfterDraw(ctx context.Context, o order.Order) error {
	tickets, err := s.store.Entrants(ctx, o.CouponID, []int64{o.UserID})
	if err != nil {
		return err
	}
	if t, has := tickets[o.UserID]; has && t.Order.RequestID == o.RequestID && !t.Decided {
		return fmt.Errorf("%w: its ticket was not drawn", order.ErrVoided)
	}
	return nil
}

// showTicket returns the order of a ticket that is not drawn yet.
func (s *Service) showTicket(sale coupon.Coupon, o order.Order) order.Order {
	at := s.drawsAt(sale)
	o.Status, o.PriceCents, o.ExpiresAt = Entered, sale.PriceCents, at.Add(s.payWithin)
	o.Position.RetryAfter = max(time.Second, at.Sub(s.now()))
	return o
}
