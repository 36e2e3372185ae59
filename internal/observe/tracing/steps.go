package tracing

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/propagation"

	"example.com/seckill/internal/order"
)

// Admission makes a span of the wait for a permit.
func (t *Traces) Admission(a order.Admission) order.Admission {
	if t == nil || a == nil {
		return a
	}
	return admission{a, t}
}

type admission struct {
	order.Admission
	t *Traces
}

func (a admission) Admit(ctx context.Context) (func(bool), error) {
	if !traced(ctx) {
		return a.Admission.Admit(ctx)
	}
	_, span := a.t.step(ctx, "admission")
	release, err := a.Admission.Admit(ctx)
	end(span, err)
	return release, err
}

// Stock makes spans of reserve, confirm and release.
func (t *Traces) Stock(s order.Stock) order.Stock {
	if t == nil {
		return s
	}
	return stock{s, t}
}

type stock struct {
	order.Stock
	t *Traces
}

func (s stock) Reserve(ctx context.Context, r order.ReserveRequest) (order.Hold, error) {
	if !traced(ctx) {
		return s.Stock.Reserve(ctx, r)
	}
	if r.Enqueue != nil {
		r.Trace = traceparent(ctx)
	}
	_, span := s.t.step(ctx, "reserve", client)
	h, err := s.Stock.Reserve(ctx, r)
	end(span, err)
	return h, err
}

func (s stock) Confirm(ctx context.Context, h order.Hold) error {
	return s.close(ctx, "confirm", h, s.Stock.Confirm)
}

func (s stock) Release(ctx context.Context, h order.Hold) error {
	return s.close(ctx, "release", h, s.Stock.Release)
}

func (s stock) close(ctx context.Context, name string, h order.Hold, do func(context.Context, order.Hold) error) error {
	if !traced(ctx) {
		return do(ctx, h)
	}
	_, span := s.t.step(ctx, name, client)
	err := do(ctx, h)
	end(span, err)
	return err
}

func (s stock) ReserveMany(ctx context.Context, requests []order.ReserveRequest) []order.Reservation {
	for i, r := range requests {
		if r.Enqueue != nil && traced(r.Context) {
			requests[i].Trace = traceparent(r.Context)
		}
	}
	began := time.Now()
	all := s.Stock.ReserveMany(ctx, requests)
	ended := time.Now()
	for i, r := range requests {
		if !traced(r.Context) {
			continue
		}
		s.t.past(r.Context, "reserve", began, ended, all[i].Err)
		if all[i].Err == nil {
			s.t.held.add(r.Context, all[i].Hold.Attempt)
		}
	}
	return all
}

func (s stock) ConfirmMany(ctx context.Context, holds []order.Hold) []error {
	began := time.Now()
	errs := s.Stock.ConfirmMany(ctx, holds)
	ended := time.Now()
	for i, h := range holds {
		if request, is := s.t.held.of(h.Attempt); is {
			s.t.past(request, "confirm", began, ended, errs[i])
		}
	}
	return errs
}

// holds knows the traced requests that holds were taken for in a batch, by the attempt. A
// request is forgotten when it ends.
type holds struct{ all sync.Map }

func (h *holds) add(request context.Context, attempt int64) {
	h.all.Store(attempt, request)
	context.AfterFunc(request, func() { h.all.Delete(attempt) })
}

func (h *holds) of(attempt int64) (context.Context, bool) {
	request, is := h.all.Load(attempt)
	if !is {
		return nil, false
	}
	ctx, is := request.(context.Context)
	return ctx, is
}

// traceparent returns the span of ctx as text.
func traceparent(ctx context.Context) string {
	to := propagation.MapCarrier{}
	wire.Inject(ctx, to)
	return to["traceparent"]
}
