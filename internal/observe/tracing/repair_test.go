package tracing

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"example.com/seckill/internal/order"
)

// sentTo returns the spans that a collector receives from what do makes, and the log.
func sentTo(t *testing.T, do func(on *Traces)) (spans []*otlp.Span, log string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var sent collector.ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(body, &sent)
		}
		if err != nil {
			t.Errorf("the collector received %q: %v", body, err)
		}
		for _, resource := range sent.GetResourceSpans() {
			for _, scope := range resource.GetScopeSpans() {
				spans = append(spans, scope.GetSpans()...)
			}
		}
	}))
	var out bytes.Buffer
	on, err := New(t.Context(), Options{Endpoint: server.URL, SampleRatio: 1, Log: slog.New(slog.NewTextHandler(&out, nil))})
	require.NoError(t, err)
	do(on)
	on.Close(t.Context())
	server.Close() // no request is under way
	return spans, out.String()
}

// requested traces a request for the path, and an order inside if place is set.
func requested(t *testing.T, on *Traces, path string, place bool) {
	t.Helper()
	in, done := on.Request("unmatched", httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, path, nil))
	if place {
		_, err := on.Place(in.Context(), order.Request{CouponID: 3}, func(context.Context, order.Request) (order.Order, error) {
			return order.Order{ID: 4}, nil
		})
		require.NoError(t, err)
	}
	done(http.StatusNotFound)
}

func names(spans []*otlp.Span) (all []string) {
	for _, s := range spans {
		all = append(all, s.GetName())
	}
	return all
}

func TestTraces_PathIsNotUTF8_OtherSpansOfTheBatchArrive(t *testing.T) {
	spans, log := sentTo(t, func(on *Traces) {
		requested(t, on, "/%ff", false)
		requested(t, on, "/"+strings.Repeat("long", 4096), false)
		requested(t, on, "/api/v1/coupons/1/orders", true)
	})
	require.Contains(t, names(spans), "place", "the span of an order; the log: %s", log)
	require.Len(t, spans, 4)
	require.Empty(t, log)
	for _, s := range spans {
		for _, kv := range s.GetAttributes() {
			require.LessOrEqual(t, len(kv.GetValue().GetStringValue()), maxPath, kv.GetKey())
		}
	}
}

// Every text of a span is tried with every bad text, so that an attribute that is added later is safe as well.
func TestRepairer_EveryTextOfASpan_IsValidAndBounded(t *testing.T) {
	for name, bad := range map[string]string{
		"not UTF-8": "a\xffb", "half a character": "a\xe2\x82", "long": strings.Repeat("é", maxText), "long and bad": strings.Repeat("\xff", maxText),
	} {
		t.Run(name, func(t *testing.T) {
			attributes := trace.WithAttributes(
				attribute.String("text", bad), attribute.String(bad, "value"), attribute.Int64(bad+"number", 7),
				attribute.StringSlice("texts", []string{"good", bad}), attribute.ByteSlice("bytes", []byte(bad)),
				attribute.Slice("mixed", attribute.StringValue(bad)), attribute.Map("map", attribute.String(bad, bad)),
				attribute.Bool("flag", true))
			spans, log := sentTo(t, func(on *Traces) {
				_, other := on.tracer.Start(t.Context(), "other")
				_, span := on.tracer.Start(t.Context(), bad, attributes, trace.WithLinks(trace.Link{
					SpanContext: other.SpanContext(), Attributes: []attribute.KeyValue{attribute.String("text", bad)},
				}))
				span.AddEvent(bad, attributes)
				span.RecordError(errors.New(bad))
				span.SetStatus(codes.Error, bad)
				span.End()
				other.End()
			})
			require.Empty(t, log)
			require.Len(t, spans, 2)
			each := func(text string, more ...string) {
				for _, s := range append(more, text) {
					require.True(t, utf8.ValidString(s), "%q", s)
					require.LessOrEqual(t, len(s), maxText)
				}
			}
			span := spans[0]
			each(span.GetName(), span.GetStatus().GetMessage())
			require.Len(t, span.GetAttributes(), 8)
			require.Len(t, span.GetEvents(), 2)
			require.Len(t, span.GetLinks(), 1)
			all := append(span.GetAttributes(), span.GetLinks()[0].GetAttributes()...)
			for _, e := range span.GetEvents() {
				each(e.GetName())
				all = append(all, e.GetAttributes()...)
			}
			for _, kv := range all {
				each(kv.GetKey(), kv.GetValue().GetStringValue())
				for _, v := range kv.GetValue().GetArrayValue().GetValues() {
					each(v.GetStringValue())
				}
			}
		})
	}
}

func TestLogFailure_SpanCannotBeEncoded_DoesNotBlameTheEndpoint(t *testing.T) {
	logged := func(err error) string {
		var out bytes.Buffer
		logFailure(slog.New(slog.NewTextHandler(&out, nil)), err)
		return out.String()
	}
	_, err := proto.Marshal(&otlp.Span{Name: "\xff"})
	require.Error(t, err)
	require.Contains(t, logged(errors.Join(errors.New("traces export"), err)), "spans could not be encoded")
	require.NotContains(t, logged(err), "otel.endpoint")
	require.Contains(t, logged(errors.New("connection refused")), "look at otel.endpoint")
}

func TestMemory_OneTraceOfManyOrders_IndexIsBounded(t *testing.T) {
	on, err := New(t.Context(), Options{SampleRatio: 1, KeepTraces: 2})
	require.NoError(t, err)
	defer on.Close(t.Context())
	place := func(id int64, traceparent string) {
		in := httptest.NewRequest(http.MethodPost, "/", nil)
		if traceparent != "" {
			in.Header.Set("Traceparent", traceparent)
		}
		in, done := on.Request("/", httptest.NewRecorder(), in)
		_, err := on.Place(in.Context(), order.Request{UserID: 42}, func(context.Context, order.Request) (order.Order, error) {
			return order.Order{ID: id}, nil
		})
		require.NoError(t, err)
		done(http.StatusCreated)
	}
	for id := range int64(90) {
		place(1+id, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
		require.LessOrEqual(t, len(on.kept.orders), 2, "orders in the index")
	}
	require.NotEmpty(t, on.Steps(90, 42), "the last order of the trace is shown")
	for id := range int64(5) {
		place(101+id, "")
	}
	require.Len(t, on.kept.traces, 2)
	require.Len(t, on.kept.orders, 2)
	require.NotEmpty(t, on.Steps(105, 42))
}
