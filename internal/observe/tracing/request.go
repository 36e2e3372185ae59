package tracing

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"example.com/seckill/internal/order"
)

// wire reads and writes the traceparent of W3C Trace Context.
var wire propagation.TraceContext

// purchases ends the route of a purchase request.
const purchases = "/orders"

// glanceKey is the key of a request that is traced for Latest alone.
type glanceKey struct{}

func isGlance(ctx context.Context) bool { return ctx.Value(glanceKey{}) != nil }

// Request begins the span of an HTTP request, in the trace that its traceparent names, and writes
// the traceparent of that span into the response. The caller goes on with the request returned,
// and calls done with the status.
func (t *Traces) Request(route string, w http.ResponseWriter, r *http.Request) (_ *http.Request, done func(status int)) {
	nothing := func(int) {}
	if t == nil {
		return r, nothing
	}
	parent := r.Context()
	if !t.unasked && len(r.Header["Traceparent"]) == 0 {
		if t.glances == nil || r.Method != http.MethodPost || !strings.HasSuffix(route, purchases) || !t.glances.Allow() {
			return r, nothing
		}
		parent = context.WithValue(parent, glanceKey{}, true)
	}
	ctx := wire.Extract(parent, propagation.HeaderCarrier(r.Header))
	ctx, span := t.tracer.Start(ctx, r.Method+" "+route, trace.WithSpanKind(trace.SpanKindServer))
	if !span.IsRecording() {
		return r, nothing
	}
	span.SetAttributes(semconv.HTTPRequestMethodKey.String(r.Method), semconv.HTTPRoute(route),
		semconv.URLPath(bounded(r.URL.Path, maxPath)))
	if !isGlance(ctx) {
		wire.Inject(ctx, propagation.HeaderCarrier(w.Header()))
	}
	return r.WithContext(ctx), func(status int) {
		span.SetAttributes(semconv.HTTPResponseStatusCode(status))
		if status >= http.StatusInternalServerError {
			span.SetStatus(codes.Error, "")
			span.SetAttributes(semconv.ErrorTypeKey.String(strconv.Itoa(status)))
		}
		span.End()
	}
}

// Place is a span around the placing of an order, which it names.
func (t *Traces) Place(ctx context.Context, r order.Request,
	place func(context.Context, order.Request) (order.Order, error),
) (order.Order, error) {
	if t == nil || !traced(ctx) {
		return place(ctx, r)
	}
	ctx, span := t.step(ctx, "place", trace.WithAttributes(
		couponKey.Int64(r.CouponID), semconv.UserID(strconv.FormatInt(r.UserID, 10))))
	if isGlance(ctx) {
		span.SetAttributes(glanced.Bool(true))
	}
	o, err := place(ctx, r)
	if o.ID != 0 {
		span.SetAttributes(orderKey.Int64(o.ID))
	}
	end(span, err)
	return o, err
}
