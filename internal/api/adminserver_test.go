package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/api/auth"
)

func TestAdminListener_Health_ReportsInstance(t *testing.T) {
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

func TestAdminRoutes_SecondListenerOnly_AreServedThereAlone(t *testing.T) {
	apart, together := newShop().serve(t, Options{AdminApart: true}), newShop().serve(t, Options{})
	require.Nil(t, together.AdminRoutes())
	second := AdminHandler(AdminOptions{API: apart.AdminRoutes()})
	routes := 0
	for _, r := range together.engine.Routes() {
		if !strings.HasPrefix(r.Path, v1+"/admin/") {
			continue
		}
		routes++
		path := strings.NewReplacer(":id", "1", ":name", "nothing").Replace(r.Path)
		public := do(t, apart, ask{method: r.Method, path: path, token: sign(t, apart, 1, auth.RoleAdmin)})
		require.Equal(t, 404, public.Code, "%s %s", r.Method, path)
		rec := httptest.NewRecorder()
		second.ServeHTTP(rec, httptest.NewRequest(r.Method, path, nil))
		require.Equal(t, 401, rec.Code, "%s %s at the second listener", r.Method, path)
	}
	require.Equal(t, 12, routes)

	req := httptest.NewRequest(http.MethodGet, v1+"/admin/coupons/1/audit", nil)
	req.Header.Set("Authorization", "Bearer "+sign(t, apart, 1, auth.RoleAdmin))
	rec := httptest.NewRecorder()
	second.ServeHTTP(rec, req)
	require.Equal(t, 200, rec.Code)
	rec = httptest.NewRecorder()
	second.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, v1+"/coupons", nil))
	require.Equal(t, 404, rec.Code, "and no others")

	told := func(s *Server) string { return do(t, s, ask{method: "GET", path: v1 + "/features"}).Body.String() }
	require.Contains(t, told(together), `"admin":true`)
	require.Contains(t, told(apart), `"admin":false`)
}
