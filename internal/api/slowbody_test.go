package api

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/api/auth"
)

// Clients that announce a body and do not send it take no slot from clients that do.
func TestMaxInFlight_SlowBody_HoldsNoSlot(t *testing.T) {
	s := newShop().serve(t, Options{MaxInFlight: 4})
	server := httptest.NewServer(s.Handler())
	defer server.Close()
	addr := server.Listener.Addr().String()
	head := func(user int64, length int) string {
		return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n"+
			"Content-Length: %d\r\n\r\n", place, sign(t, s, user, auth.RoleUser), length)
	}
	var slow sync.WaitGroup
	for range 40 {
		conn, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		defer conn.Close() //nolint:errcheck // of a test
		_, err = conn.Write([]byte(head(7, 2) + "{"))
		require.NoError(t, err)
		slow.Go(func() {
			began := time.Now()
			got, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if assert.NoError(t, err) {
				assert.Equal(t, http.StatusBadRequest, got.StatusCode)
				assert.NoError(t, got.Body.Close())
				assert.Less(t, time.Since(began), bodyWithin+5*time.Second)
			}
		})
	}
	time.Sleep(50 * time.Millisecond) // all of them wait for their bodies
	for user := range int64(20) {
		conn, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		_, err = conn.Write([]byte(head(100+user, 2) + "{}"))
		require.NoError(t, err)
		got, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		require.Equal(t, http.StatusCreated, got.StatusCode)
		require.NoError(t, got.Body.Close())
		require.NoError(t, conn.Close())
	}
	slow.Wait()
}

func TestRoutes_EncodedSlash_IsNotASeparator(t *testing.T) {
	s := newShop().serve(t, Options{})
	chief := sign(t, s, 1, auth.RoleAdmin)
	for _, path := range []string{
		"/api/v1/admin%2fcoupons/1/audit", "/api/v1%2Fadmin/coupons/1/audit", "/api/v1/coupons%2f1",
	} {
		require.Equal(t, http.StatusNotFound, do(t, s, ask{method: "GET", path: path, token: chief}).Code, path)
	}
}

func TestClientAddress_OtherHeaders_AreIgnored(t *testing.T) {
	s := newShop().serve(t, Options{DemoLogin: true, SessionRate: 1, TrustedProxies: []string{"192.0.2.0/24"}})
	for i, want := range []int{201, 429} {
		rec := do(t, s, ask{
			method: "POST", path: "/api/v1/sessions", body: `{"user_id":"42"}`,
			header: http.Header{"X-Real-Ip": {fmt.Sprintf("203.0.113.%d", i)}},
		})
		require.Equal(t, want, rec.Code)
	}
}
