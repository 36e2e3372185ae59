package lottery

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	o, err := s.orders.PlaceWith(ctx, r, s.enter)
	if r.Key == "" || err == nil || isOneOf(err, order.ErrCommitUnknown, order.ErrUnavailable, order.ErrKeyReused) {
		return o, err
	}
	// The request may have a ticket, and the ticket an order by a later attempt.
	found, ticket, ferr := s.orderOfUser(ctx, r.CouponID, r.UserID)
	switch {
	case ferr != nil:
		return order.Order{}, ferr
	case ticket.Order.RequestID != order.RequestID(r):
		return o, err
	case ticket.Sold:
		return found, nil
	case errors.Is(err, order.ErrVoided):
		return o, err
	}
	shown, err := s.Get(ctx, ticket.Order.ID, r.UserID)
	if err == nil && (shown.Status == NotDrawn || shown.Status == order.Void) {
		return order.Order{}, fmt.Errorf("%w: its ticket was not drawn", order.ErrVoided)
	}
	return shown, err
}

func isOneOf(err error, these ...error) bool {
	return slices.ContainsFunc(these, func(one error) bool { return errors.Is(err, one) })
}

// orderOfUser returns the user's ticket for a coupon, and the order of the ticket if it has one.
func (s *Service) orderOfUser(ctx context.Context, couponID, userID int64) (order.Order, Entrant, error) {
	tickets, err := s.store.Entrants(ctx, couponID, []int64{userID})
	t := tickets[userID]
	if err != nil || !t.Sold {
		return order.Order{}, t, err
	}
	o, err := s.rows.ByRequest(ctx, t.RequestID(), userID)
	return o, t, err
}

// enter implements order.Answerer. It answers with a ticket, or queues the request once the draw has ended. While
// tickets are drawn it refuses a request without a ticket, which may be repeated.
func (s *Service) enter(ctx context.Context, sale coupon.Coupon, o order.Order) (order.Order, error) {
	d, err := s.draw(ctx, sale)
	if errors.Is(err, order.ErrNotFound) { // no instance in lottery mode has published the coupon
		d, err = s.makeDraw(ctx, sale.ID)
	}
	if err != nil {
		return order.Order{}, err
	}
	if !d.EndedAt.IsZero() {
		return s.buyAfterDraw(ctx, sale, o)
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

// buyAfterDraw takes a unit, or returns the order of the request's ticket. It rejects the request of a ticket that was
// not drawn. Units that are added or come back later go to new requests, because an order of the old request would pass
// over every rank before it.
func (s *Service) buyAfterDraw(ctx context.Context, sale coupon.Coupon, o order.Order) (order.Order, error) {
	found, ticket, err := s.orderOfUser(ctx, o.CouponID, o.UserID)
	switch {
	case err != nil:
		return order.Order{}, err
	case ticket.Order.RequestID != o.RequestID:
		return s.orders.Take(ctx, sale, o)
	case ticket.Sold:
		return found, nil
	}
	return order.Order{}, fmt.Errorf("%w: its ticket was not drawn", order.ErrVoided)
}

// showTicket returns the order of a ticket that is not drawn yet.
func (s *Service) showTicket(sale coupon.Coupon, o order.Order) order.Order {
	at := s.drawsAt(sale)
	o.Status, o.PriceCents, o.ExpiresAt = Entered, sale.PriceCents, at.Add(s.paymentTimeout)
	o.Position.RetryAfter = max(time.Second, at.Sub(s.now()))
	return o
}
