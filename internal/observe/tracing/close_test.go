package tracing_test

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/observe/tracing"
	"example.com/seckill/internal/order"
)

// lines is a log that several goroutines write.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// neverAnswers listens, takes connections and never answers.
func neverAnswers(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return "http://" + l.Addr().String() // the kernel takes connections by itself
}

// trickle answers a byte now and then, and has no end.
func trickle(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			_, _ = w.Write([]byte("."))
			_ = http.NewResponseController(w).Flush()
			select {
			case <-time.After(50 * time.Millisecond):
			case <-r.Context().Done():
			}
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func answering(status int) func(t *testing.T) string {
	return func(t *testing.T) string {
		t.Helper()
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		t.Cleanup(server.Close)
		return server.URL
	}
}

// A collector may delay the end by a second, whatever it does, and never fails it.
func TestTraces_CollectorThatDoesNotTakeSpans_CloseEndsWithinASecond(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) string{
		"accepts and never answers":  neverAnswers,
		"trickles":                   trickle,
		"refuses":                    func(*testing.T) string { return "http://127.0.0.1:1" },
		"answers 500":                answering(http.StatusInternalServerError),
		"answers 503, to be retried": answering(http.StatusServiceUnavailable),
	} {
		t.Run(name, func(t *testing.T) {
			var log lines
			on, err := tracing.New(t.Context(), tracing.Options{
				Endpoint: open(t), SampleRatio: 1, Log: slog.New(slog.NewTextHandler(&log, nil)),
			})
			require.NoError(t, err, "a start does not wait for the collector")
			recorded{Traces: on}.requested(t, func(ctx context.Context) {
				_, err := on.Place(ctx, order.Request{}, func(context.Context, order.Request) (order.Order, error) {
					return order.Order{}, nil
				})
				require.NoError(t, err)
			})
			began := time.Now()
			on.Close(t.Context())
			require.Less(t, time.Since(began), 5*time.Second)
			require.Contains(t, log.String(), "otel.endpoint")
		})
	}
}
