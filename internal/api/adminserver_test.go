package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheSecondListenerTellsHowTheInstanceIs(t *testing.T) {
	var away error
	h := AdminHandler(AdminOptions{
		Ready: func(ctx context.Context) error {
			_, bounded := ctx.Deadline()
			require.True(t, bounded)
			return away
		},
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "orders 1") }),
	})
	get := func(path string) (int, string) {
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, path, nil))
		return rec.Code, rec.Body.String()
	}
	for path, want := range map[string]string{
		"/healthz": `{"status":"ok"}`, "/readyz": `{"status":"ready"}`, "/metrics": "orders 1",
		"/debug/pprof/": "goroutine", "/debug/pprof/cmdline": "",
	} {
		status, body := get(path)
		require.Equal(t, 200, status, path)
		require.Contains(t, body, want)
	}
	away = errors.New("redis is away")
	status, body := get("/readyz")
	require.Equal(t, 503, status)
	require.JSONEq(t, `{"status":"not ready","reason":"redis is away"}`, body)
	status, _ = get("/healthz")
	require.Equal(t, 200, status, "the process is alive all the same")
	status, _ = get("/api/v1/coupons")
	require.Equal(t, 404, status)
}
