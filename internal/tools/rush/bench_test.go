package rush

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// BenchmarkCall is what one request costs the generator, beside a server in the
// same process that answers every request with the same order.
func BenchmarkCall(b *testing.B) {
	const body = `{"id":"1001","coupon_id":"1","user_id":"1","status":"pending","price_cents":100,` +
		`"created_at":"2030-01-01T00:00:00Z","expires_at":"2030-01-01T00:15:00Z","request_id":"r"}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, body)
	}))
	defer server.Close()
	host := server.Listener.Addr().(*net.TCPAddr).String()
	for name, l := range map[string]transport{
		"light":   newRawConns(host, 30*time.Second),
		"nethttp": newNetHTTP("http://"+host, 128, 30*time.Second, nil),
	} {
		b.Run(name, func(b *testing.B) {
			b.Cleanup(l.cut)
			b.ReportAllocs()
			b.SetParallelism(32)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					a, err := l.call(b.Context(), request{method: http.MethodPost, path: "/orders", token: "t", key: "k"})
					if err != nil || a.order.ID != "1001" {
						b.Error(a, err)
					}
				}
			})
		})
	}
}
