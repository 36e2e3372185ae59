package api

import (
	"context"
	"time"

	"example.com/seckill/internal/order"
)

// Traces has the ways of orders that were placed through this instance.
type Traces interface {
	// Steps returns the steps of an order of the user in the order of their begin, or none if they
	// are not kept.
	Steps(orderID, userID int64) []Step
	// Latest returns the steps of the latest traced order of a coupon, or none.
	Latest(couponID int64) []Step
}

// OrderNumbers tells where an order stands among the orders of its coupon. *store.Store implements it.
type OrderNumbers interface {
	// OrderNumber returns how many orders of the coupon have ids up to the given one.
	OrderNumber(ctx context.Context, couponID, orderID int64) (int64, error)
}

// Step is a step of an order's way.
type Step struct {
	Name   string
	Began  time.Time
	Took   time.Duration
	Orders int // in the transaction, if it is one for many
	Failed bool
}

// orderTrace is the way of an order. Its times count from its first step.
type orderTrace struct {
	Steps  []stepJSON `json:"steps"`
	Number int64      `json:"number,omitempty"` // the order is the n-th of its coupon; absent if that is not known
}

type stepJSON struct {
	Step   string `json:"step"`
	Begin  int64  `json:"begin_us"`
	Took   int64  `json:"took_us"`
	Orders int    `json:"orders,omitempty"`
	Failed bool   `json:"failed,omitempty"`
}

// stepsOf returns the steps with times that count from the first one.
func stepsOf(steps []Step) []stepJSON {
	all := make([]stepJSON, len(steps))
	for i, st := range steps {
		all[i] = stepJSON{st.Name, st.Began.Sub(steps[0].Began).Microseconds(), st.Took.Microseconds(), st.Orders, st.Failed}
	}
	return all
}

// traceOrder shows a buyer the way of an order of theirs. It is not kept, not traced or another
// user's: all of these are not found.
func (s *Server) traceOrder(ctx context.Context, r orderPath) (orderTrace, error) {
	if s.deps.Traces == nil {
		return orderTrace{}, order.ErrNotFound
	}
	steps := s.deps.Traces.Steps(r.id, r.userID)
	if len(steps) == 0 {
		return orderTrace{}, order.ErrNotFound
	}
	return orderTrace{stepsOf(steps), s.number(ctx, r)}, nil
}

// maxNumbered is the largest number of units of a coupon whose orders are counted for a number. Counting reads an entry
// per order.
const maxNumbered = 10_000

// number returns the place of a live order among the orders of its coupon, or 0. If a store is unavailable, the way of
// the order is shown without its number.
func (s *Server) number(ctx context.Context, r orderPath) int64 {
	if s.deps.Numbers == nil {
		return 0
	}
	o, err := s.deps.Orders.Get(ctx, r.id, r.userID)
	if err != nil || !o.Status.Live() {
		return 0
	}
	c, err := s.deps.Coupons.Get(ctx, o.CouponID)
	if err != nil || c.Total > maxNumbered {
		return 0
	}
	n, err := s.deps.Numbers.OrderNumber(ctx, o.CouponID, o.ID)
	if err != nil {
		return 0
	}
	return n
}
