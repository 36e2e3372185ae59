package tracing

import (
	"context"
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

// Hook makes spans of the steps of each traced order: reserve, lock, transaction, unlock, confirm and release. It
// is nil if traces are off.
func (t *Traces) Hook() order.Hook {
	if t == nil {
		return nil
	}
	return func(ctx context.Context, step order.Step, all []*order.Attempt, do func(ctx context.Context)) {
		switch step {
		case order.StepReserve:
			for _, a := range all {
				if traced(a.Context) {
					a.Traceparent = traceparent(a.Context)
				}
			}
			t.span(ctx, "reserve", all, do, func(a *order.Attempt) error { return a.Err })
		case order.StepConfirm, order.StepRelease:
			t.span(ctx, string(step), all, do, func(a *order.Attempt) error { return a.HoldErr })
		case order.StepLock:
			t.lock(ctx, all, do)
		case order.StepWork:
			work(ctx, all, do)
		case order.StepCommit:
			t.commit(ctx, all, do)
		}
	}
}

// span makes a span of a step in the trace of each order.
func (t *Traces) span(ctx context.Context, name string, all []*order.Attempt,
	do func(ctx context.Context), outcome func(a *order.Attempt) error,
) {
	began := time.Now()
	do(ctx)
	ended := time.Now()
	for _, a := range all {
		if traced(a.Context) {
			t.past(a.Context, name, began, ended, outcome(a))
		}
	}
}

// traceparent returns the span of ctx as text.
func traceparent(ctx context.Context) string {
	to := propagation.MapCarrier{}
	wire.Inject(ctx, to)
	return to["traceparent"]
}
