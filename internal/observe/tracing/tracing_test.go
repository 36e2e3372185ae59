package tracing_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"

	"example.com/seckill/internal/observe/tracing"
	"example.com/seckill/internal/order"
)

func attributeOf(key string, value int64) attribute.KeyValue { return attribute.Int64(key, value) }

// database does nothing.
type database struct{ order.Database }

func (database) InTx(context.Context, func(context.Context, order.Tx) error) error { return nil }

// With traces off the order path is made of the very same parts.
func TestTracing_Off_DecoratesNothing(t *testing.T) {
	off, err := tracing.New(t.Context(), tracing.Options{SampleRatio: 1})
	require.NoError(t, err)
	require.Nil(t, off)
	require.Equal(t, order.Database(database{}), off.Database(database{}))
	require.Nil(t, off.Hook())
	require.Equal(t, order.Admission(permits{}), off.Admission(permits{}))
	require.Nil(t, off.OnTransaction(), "no transaction is gathered")
	require.False(t, off.Keeps())
	require.Nil(t, off.Steps(1, 1))
	off.Close(t.Context())
	place := decorate(off).place
	require.Equal(t, int(testing.AllocsPerRun(100, func() { _, _ = place(t.Context(), order.Request{}) })),
		int(testing.AllocsPerRun(100, func() { _, _ = off.Place(t.Context(), order.Request{}, place) })))
}

// parts are the hook around the steps of an order that does nothing.
type parts struct{ hook order.Hook }

func decorate(t *tracing.Traces) parts { return parts{t.Hook()} }

// step does a step of one order.
func (p parts) step(ctx context.Context, step order.Step, inside func(ctx context.Context)) {
	if p.hook == nil {
		inside(ctx)
		return
	}
	p.hook(ctx, step, []*order.Attempt{{Context: ctx}}, inside)
}

func nothing(context.Context) {}

// place does the steps of an order that does nothing.
func (p parts) place(ctx context.Context, _ order.Request) (order.Order, error) {
	p.step(ctx, order.StepReserve, nothing)
	p.step(ctx, order.StepLock, func(ctx context.Context) {
		p.step(ctx, order.StepWork, func(ctx context.Context) { p.step(ctx, order.StepCommit, nothing) })
	})
	p.step(ctx, order.StepConfirm, nothing)
	return order.Order{}, nil
}

// BenchmarkSteps is what tracing adds to an order: nothing when it is off, little when it is on
// and the order is not traced.
func BenchmarkSteps(b *testing.B) {
	unasked, err := tracing.New(b.Context(), tracing.Options{KeepTraces: 1})
	require.NoError(b, err)
	each, err := tracing.New(b.Context(), tracing.Options{KeepTraces: 1, SampleRatio: 1})
	require.NoError(b, err)
	for name, t := range map[string]*tracing.Traces{"off": nil, "unasked": unasked, "traced": each} {
		b.Run(name, func(b *testing.B) {
			d := decorate(t)
			ctx := b.Context()
			if name == "traced" {
				r, _ := t.Request("/", httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodPost, "/", nil))
				ctx = r.Context()
			}
			b.ReportAllocs()
			for b.Loop() {
				_, _ = t.Place(ctx, order.Request{CouponID: 1, UserID: 1}, d.place)
			}
		})
	}
}

func request(t *testing.T, r recorded, traceparent string) (*http.Request, func(int), http.Header) {
	t.Helper()
	w := httptest.NewRecorder()
	in := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v1/orders/1", nil)
	if traceparent != "" {
		in.Header.Set("Traceparent", traceparent)
	}
	out, done := r.Request("/api/v1/orders/:id", w, in)
	return out, done, w.Header()
}

func TestTraceparent_Incoming_IsContinued(t *testing.T) {
	r := record(t, tracing.Options{})
	_, done, h := request(t, r, asking)
	done(http.StatusServiceUnavailable)
	spans := r.spans.Ended()
	require.Len(t, spans, 1)
	require.Equal(t, "0af7651916cd43dd8448eb211c80319c", spans[0].SpanContext().TraceID().String())
	require.Equal(t, "b7ad6b7169203331", spans[0].Parent().SpanID().String())
	require.Equal(t, "00-0af7651916cd43dd8448eb211c80319c-"+spans[0].SpanContext().SpanID().String()+"-01", h.Get("Traceparent"))
	require.Equal(t, "GET /api/v1/orders/:id", spans[0].Name())
	require.Equal(t, "Error", spans[0].Status().Code.String())
	for key, value := range map[string]string{
		"http.request.method": "GET", "http.route": "/api/v1/orders/:id", "http.response.status_code": "503", "error.type": "503",
	} {
		found := ""
		for _, kv := range spans[0].Attributes() {
			if string(kv.Key) == key {
				found = kv.Value.String()
			}
		}
		require.Equal(t, value, found, key)
	}
}

func TestTracing_ParentNotSampled_UsesSampleRate(t *testing.T) {
	none := record(t, tracing.Options{})
	for _, parent := range []string{"", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00", "nonsense"} {
		in, done, h := request(t, none, parent)
		done(http.StatusOK)
		require.Empty(t, h.Get("Traceparent"), parent)
		require.NotNil(t, in)
	}
	require.Empty(t, none.spans.Ended())

	some := record(t, tracing.Options{SampleRatio: 1.0 / 10})
	for range 2000 {
		_, done, _ := request(t, some, "")
		done(http.StatusOK)
	}
	require.InDelta(t, 200, len(some.spans.Ended()), 100)
}

// Any client may ask, and as often as it likes.
func TestSampling_ClientRequests_AreBounded(t *testing.T) {
	r := record(t, tracing.Options{SampleRatio: 1.0 / 1_000_000})
	began := time.Now()
	for range 5000 {
		_, done, _ := request(t, r, asking)
		done(http.StatusOK)
	}
	require.LessOrEqual(t, len(r.spans.Ended()), 100+int(100*(1+time.Since(began).Seconds())))
	require.GreaterOrEqual(t, len(r.spans.Ended()), 100)
}

func TestSpans_Endpoint_ReceivesThem(t *testing.T) {
	var mu sync.Mutex
	var path, sent string
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		path, sent = r.URL.Path, sent+string(body)
	}))
	defer collector.Close()
	on, err := tracing.New(t.Context(), tracing.Options{Endpoint: collector.URL, SampleRatio: 1, Version: "v9", Instance: "abcd"})
	require.NoError(t, err)
	r := recorded{Traces: on}
	r.requested(t, func(ctx context.Context) {
		_, _ = on.Place(ctx, order.Request{CouponID: 3}, func(context.Context, order.Request) (order.Order, error) {
			return order.Order{ID: 4}, nil
		})
	})
	on.Close(t.Context())
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, "/v1/traces", path)
	for _, word := range []string{"service.name", "seckill", "v9", "abcd", "place", "seckill.order.id", "/api/v1/coupons/:id/orders"} {
		require.Contains(t, sent, word)
	}
}
