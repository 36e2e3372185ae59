// Package tracing shows where the time of an order goes, as spans of OpenTelemetry.
//
// The order path does not import it. The order path calls a hook around each step, and the hook makes the span of the
// step.
//
//	request ─▶ place ─┬─ admission
//	                  ├─ reserve
//	                  ├─ lock
//	                  ├─ transaction ┄┄ link ┄┄ group transaction, a trace of its own
//	                  ├─ unlock          (one for the orders of many requests)
//	                  └─ confirm
//
// In a batch a step is done once for many orders, and each traced one has a span of that step in
// its own trace. In order.mode queue the entry carries the request's traceparent, and the
// worker's spans are in the request's trace.
//
// A nil *Traces decorates nothing and returns its argument: with traces off the order path is made of the same
// parts as without this package.
//
// The package does not promise that every traced request is exported. It drops spans and does not wait for
// them.
package tracing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/time/rate"
)

// Options say which requests are traced, and where the spans go.
type Options struct {
	Endpoint    string  // the URL that OTLP over HTTP is sent to; "" sends nothing
	SampleRatio float64 // share of the requests that are traced, from 0 to 1; 0: only requests that ask
	KeepTraces  int     // traces of orders that are kept for their buyers; 0 keeps none
	Glances     int     // purchase requests per second that are traced only for Latest; 0 is none
	Version     string  // of the program
	Instance    string  // its name in the fleet
	Log         *slog.Logger
	Spans       sdk.SpanProcessor // receives every span as well; may be nil
}

// Traces makes spans. All its methods may be called on nil.
type Traces struct {
	tracer   trace.Tracer
	provider *sdk.TracerProvider
	unasked  bool                // requests are traced that did not ask for it
	glances  *rate.Limiter       // nil traces none for Latest alone
	exporter *otlptrace.Exporter // nil sends nothing
	kept     *memory             // nil keeps none
	log      *slog.Logger
}

// New returns nil if the options send, keep and hand on nothing.
func New(ctx context.Context, o Options) (*Traces, error) {
	if o.Endpoint == "" && o.KeepTraces == 0 && o.Spans == nil {
		return nil, nil //nolint:nilnil // nil is traces that are off
	}
	t := &Traces{unasked: o.SampleRatio > 0, log: o.Log}
	with := []sdk.TracerProviderOption{
		sdk.WithSampler(newSampler(o.SampleRatio)),
		sdk.WithResource(resource.NewWithAttributes(semconv.SchemaURL,
			semconv.ServiceName("seckill"), semconv.ServiceVersion(text(o.Version)), semconv.ServiceInstanceID(text(o.Instance)))),
	}
	if o.Endpoint != "" {
		exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(tracesURL(o.Endpoint)))
		if err != nil {
			return nil, fmt.Errorf("otel.endpoint: %w", err)
		}
		otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
			logFailure(o.Log, err)
		}))
		t.exporter = exporter
		with = append(with, sdk.WithBatcher(repairer{exporter}))
	}
	if o.KeepTraces > 0 {
		t.kept = newMemory(o.KeepTraces)
		if o.Glances > 0 {
			t.glances = rate.NewLimiter(rate.Limit(o.Glances), 1)
		}
		with = append(with, sdk.WithSpanProcessor(t.kept))
	}
	if o.Spans != nil {
		with = append(with, sdk.WithSpanProcessor(o.Spans))
	}
	t.provider = sdk.NewTracerProvider(with...)
	t.tracer = t.provider.Tracer("example.com/seckill/internal/observe/tracing")
	return t, nil
}

// closeTimeout is how long the collector may take for the last spans.
const closeTimeout = time.Second

// Close sends the last spans. It waits for a second at most, and logs a failure: a collector that does
// not answer neither delays nor fails the end of the program.
func (t *Traces) Close(ctx context.Context) {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	err := t.provider.Shutdown(ctx)
	if t.exporter != nil { // a request that is still under way ends
		err = errors.Join(err, t.exporter.Shutdown(ctx))
	}
	if err != nil && t.log != nil {
		t.log.Warn("the last spans were not sent: look at otel.endpoint", "error", err)
	}
}

// traced reports whether ctx is of a request that is traced.
func traced(ctx context.Context) bool { return ctx != nil && trace.SpanFromContext(ctx).IsRecording() }

// client is the kind of a step that is a call to a store.
var client = trace.WithSpanKind(trace.SpanKindClient)

// step begins the span of a step in the trace of ctx.
func (t *Traces) step(ctx context.Context, name string, o ...trace.SpanStartOption) (context.Context, trace.Span) {
	return t.tracer.Start(ctx, name, o...)
}

// past makes the span of a step that is over.
func (t *Traces) past(ctx context.Context, name string, began, ended time.Time, err error) {
	_, span := t.tracer.Start(ctx, name, client, trace.WithTimestamp(began))
	end(span, err, trace.WithTimestamp(ended))
}

// end ends a span with the outcome of its step.
func end(span trace.Span, err error, o ...trace.SpanEndOption) {
	if err != nil {
		span.SetStatus(codes.Error, err.Error())
		span.SetAttributes(semconv.ErrorType(err))
	}
	span.End(o...)
}

// The attributes of the program's own.
const (
	couponKey = attribute.Key("seckill.coupon.id")
	orderKey  = attribute.Key("seckill.order.id")
	ordersKey = attribute.Key("seckill.group.orders") // in one transaction
	glanced   = attribute.Key("seckill.glance")       // the trace is not kept for its buyer
)
