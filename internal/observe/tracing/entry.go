package tracing

import (
	"context"
	"strconv"

	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"example.com/seckill/internal/order"
)

// Entry begins a span of an attempt at a queue entry, in the trace of the request that was queued,
// whichever instance that came to. It returns the span's context, and what ends the span.
func (t *Traces) Entry(ctx context.Context, e order.Entry) (context.Context, func(error)) {
	if t == nil || e.Trace == "" {
		return ctx, func(error) {}
	}
	above := trace.SpanContextFromContext(wire.Extract(ctx, propagation.MapCarrier{"traceparent": e.Trace}))
	if !above.IsSampled() {
		return ctx, func(error) {}
	}
	// It is this program's own decision, made when the request came, and not a client's wish.
	ctx = trace.ContextWithSpanContext(ctx, above.WithRemote(false))
	ctx, span := t.tracer.Start(ctx, "process", trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(
		semconv.MessagingOperationTypeProcess, semconv.MessagingOperationName("process"), semconv.MessagingSystemKey.String("redis"),
		semconv.MessagingDestinationName("queue"), semconv.MessagingMessageID(e.ID),
		couponKey.Int64(e.Hold.CouponID), orderKey.Int64(e.Hold.OrderID),
		semconv.UserID(strconv.FormatInt(e.Hold.UserID, 10))))
	return ctx, func(err error) { end(span, err) }
}
