package lottery

import (
	"fmt"

	"example.com/seckill/internal/order"
)

// Entrant is a ticket of a draw, with what became of it.
//
// The request of a winner may end as a void row through no fault of the buyer, for example because the outcome of the
// commit was unknown. The draw then serves the ticket again, under another request id. This is the next attempt.
type Entrant struct {
	Order   order.Order // as it will be, if it is drawn, but for its id; its request is that of the first attempt
	Attempt int         // from 1: the attempt that has the order, or the next one that may have it
	Sold    bool        // the attempt has an order
	Void    bool        // an attempt is void, and none has an order
	Others  int         // orders that the user has for the coupon by other requests
}

// maxAttempts is how often the draw serves a ticket at most.
const maxAttempts = 9

// NewEntrant returns a ticket with what became of it. rows has the statuses of the user's orders for the coupon, by
// request. taken reports whether the first request has an order of another coupon: one idempotency key may have tickets
// of two coupons, and makes one order.
func NewEntrant(ticket order.Order, rows map[string]order.Status, taken bool) Entrant {
	e := Entrant{Order: ticket, Attempt: 1}
	for _, status := range rows {
		if status != order.Void {
			e.Others++
		}
	}
	for e.Attempt <= maxAttempts {
		status, has := rows[e.RequestID()]
		switch {
		case !has && (e.Attempt > 1 || !taken):
			return e
		case has && status != order.Void:
			e.Sold, e.Void = true, false
			e.Others--
			return e
		case has:
			e.Void = true
		}
		e.Attempt++
	}
	return e
}

// RequestID returns the request id of the current attempt. The id names the coupon from the second attempt on, so that
// no other coupon has it.
func (e Entrant) RequestID() string {
	if e.Attempt == 1 {
		return e.Order.RequestID
	}
	return fmt.Sprintf("%s-%d-%d", e.Order.RequestID, e.Order.CouponID, e.Attempt)
}

// Decided reports whether the draw has nothing left to do for the ticket. limit is how many orders a user may have. A
// user who has as many by other requests cannot be given another.
func (e Entrant) Decided(limit int) bool {
	return e.Sold || e.Attempt > maxAttempts || e.Void && e.Others >= limit
}

// PassedOver reports whether the ticket got nothing, although the user could have been given an order.
func (e Entrant) PassedOver(limit int) bool {
	return !e.Sold && (!e.Void || e.Others < limit)
}
