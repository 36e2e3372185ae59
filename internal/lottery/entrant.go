package lottery

import (
	"fmt"

	"example.com/seckill/internal/order"
)

// Entrant is a ticket of a draw, with its result.
//
// The request of a winner may end as a void row although the buyer did nothing wrong. An example is a commit with an
// unknown outcome. The draw then serves the ticket again, under another request id. This is the next attempt.
type Entrant struct {
	Order   order.Order // the order if the ticket is drawn, except for its id; has the request id of the first attempt
	Attempt int         // from 1: the attempt that has the order, or the next attempt that may get it
	Sold    bool        // the attempt has an order
	Void    bool        // an attempt is void, and none has an order
	Others  int         // orders that the user has for the coupon by other requests
}

// maxAttempts is the limit on the attempts of a ticket.
const maxAttempts = 9

// NewEntrant returns a ticket with its result.
//
// The parameter rows has the statuses of the user's orders for the coupon, by request id. The parameter taken reports
// whether the first request has an order of another coupon. One idempotency key may have tickets of two coupons, and
// makes only one order.
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

// RequestID returns the request id of the current attempt. From the second attempt on, the id names the coupon, so that
// no other coupon has the id.
func (e Entrant) RequestID() string {
	if e.Attempt == 1 {
		return e.Order.RequestID
	}
	return fmt.Sprintf("%s-%d-%d", e.Order.RequestID, e.Order.CouponID, e.Attempt)
}

// Decided reports whether the draw has nothing left to do for the ticket. The parameter limit is the purchase limit. A
// user who has reached the limit by other requests cannot get another order.
func (e Entrant) Decided(limit int) bool {
	return e.Sold || e.Attempt > maxAttempts || e.Void && e.Others >= limit
}

// PassedOver reports whether the ticket has no order although the user could have received an order.
func (e Entrant) PassedOver(limit int) bool {
	return !e.Sold && (!e.Void || e.Others < limit)
}
