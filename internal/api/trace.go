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
	Steps []stepJSON `json:"steps"`
}

type stepJSON struct {
	Step   string `json:"step"`
	Begin  int64  `json:"begin_us"`
	Took   int64  `json:"took_us"`
	Orders int    `json:"orders,omitempty"`
	Failed bool   `json:"failed,omitempty"`
}

// traceOrder shows a buyer the way of an order of theirs. It is not kept, not traced or another
// user's: all of these are not found.
func (s *Server) traceOrder(_ context.Context, r orderPath) (orderTrace, error) {
	if s.deps.Traces == nil {
		return orderTrace{}, order.ErrNotFound
	}
	steps := s.deps.Traces.Steps(r.id, r.userID)
	if len(steps) == 0 {
		return orderTrace{}, order.ErrNotFound
	}
	way := orderTrace{Steps: make([]stepJSON, len(steps))}
	for i, st := range steps {
		way.Steps[i] = stepJSON{st.Name, st.Began.Sub(steps[0].Began).Microseconds(), st.Took.Microseconds(), st.Orders, st.Failed}
	}
	return way, nil
}
