package tracing_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"example.com/seckill/internal/observe/tracing"
	"example.com/seckill/internal/order"
	"example.com/seckill/internal/testing/apptest"
	"example.com/seckill/internal/testing/testservers"
)

func TestMain(m *testing.M) { testservers.Main(m) }

// asking is the traceparent of a client that asks for a trace.
const asking = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// recorded are traces that a test reads.
type recorded struct {
	*tracing.Traces
	spans *tracetest.SpanRecorder
}

func record(t testing.TB, o tracing.Options) recorded {
	t.Helper()
	r := recorded{spans: tracetest.NewSpanRecorder()}
	o.Spans = r.spans
	var err error
	r.Traces, err = tracing.New(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { r.Close(context.Background()) })
	return r
}

// shop is the deps of an instance whose steps are traced, committing in one of the ways.
func (r recorded) shop(s *apptest.Shop) order.Deps {
	d := s.Deps
	d.Admission, d.Hooks = r.Admission(permits{}), []order.Hook{r.Hook()}
	d.DB = r.Database(d.DB)
	d.Committer = groups(s, r.OnTransaction())
	return d
}

// permits are never short.
type permits struct{}

func (permits) Admit(context.Context) (func(bool), error) { return func(bool) {}, nil }

// requested calls do in the context of a traced request.
func (r recorded) requested(t testing.TB, do func(ctx context.Context)) {
	t.Helper()
	request := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/api/v1/coupons/1/orders", nil)
	request, done := r.Request("/api/v1/coupons/:id/orders", httptest.NewRecorder(), request)
	do(request.Context())
	done(http.StatusCreated)
}

func (r recorded) place(t testing.TB, s *order.Service, w order.Request) (o order.Order, err error) {
	t.Helper()
	r.requested(t, func(ctx context.Context) { o, err = r.Place(ctx, w, s.Place) })
	return o, err
}

// byTrace returns the spans that have ended.
func (r recorded) byTrace() map[trace.TraceID][]sdk.ReadOnlySpan {
	all := map[trace.TraceID][]sdk.ReadOnlySpan{}
	for _, s := range r.spans.Ended() {
		id := s.SpanContext().TraceID()
		all[id] = append(all[id], s)
	}
	return all
}

func named(spans []sdk.ReadOnlySpan, name string) (found []sdk.ReadOnlySpan) {
	for _, s := range spans {
		if s.Name() == name {
			found = append(found, s)
		}
	}
	return found
}

func names(spans []sdk.ReadOnlySpan) (all []string) {
	sorted := slices.Clone(spans)
	slices.SortStableFunc(sorted, func(a, b sdk.ReadOnlySpan) int { return a.StartTime().Compare(b.StartTime()) })
	for _, s := range sorted {
		all = append(all, s.Name())
	}
	return all
}
