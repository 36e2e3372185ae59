package rush

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// speaking is a server that reads requests and writes the given answers, byte by
// byte as they are, one after the other on each connection, and then hangs up.
func speaking(t *testing.T, answers ...string) (host string, dials chan struct{}) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	dials = make(chan struct{}, 100)
	done := make(chan struct{})
	t.Cleanup(func() { require.NoError(t, l.Close()); <-done })
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			dials <- struct{}{}
			in := bufio.NewReader(conn)
			for _, a := range answers {
				if _, err := http.ReadRequest(in); err != nil {
					break
				}
				_, _ = io.WriteString(conn, a)
			}
			_ = conn.Close()
		}
	}()
	return l.Addr().String(), dials
}

const orderJSON = `{"id":"5","coupon_id":"1","user_id":"1","status":"pending"}`

func TestRawConn_Answer_IsReadWhole(t *testing.T) {
	for name, tc := range map[string]struct {
		answer string
		want   string // the order's id
		err    string
	}{
		"with a length":           {answer: "HTTP/1.1 201 Created\r\nContent-Length: 59\r\n\r\n" + orderJSON, want: "5"},
		"in chunks":               {answer: "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n3b\r\n" + orderJSON + "\r\n0\r\n\r\n", want: "5"},
		"up to the end":           {answer: "HTTP/1.1 201 Created\r\nConnection: close\r\n\r\n" + orderJSON, want: "5"},
		"after an interim one":    {answer: "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 59\r\n\r\n" + orderJSON, want: "5"},
		"but not when cut short":  {answer: "HTTP/1.1 201 Created\r\nContent-Length: 60\r\n\r\n" + orderJSON, err: "unexpected EOF"},
		"but not without an end":  {answer: "HTTP/1.1 201 Created\r\nConnection: close\r\n\r\n" + strings.Repeat(" ", maxBody+1), err: "too large"},
		"but not when it is none": {answer: "SSH-2.0-OpenSSH_9.2\r\n\r\n", err: "malformed"},
	} {
		t.Run(name, func(t *testing.T) {
			host, _ := speaking(t, tc.answer)
			ws := newRawConns(host, 5*time.Second)
			defer ws.cut()
			a, err := ws.call(t.Context(), request{method: http.MethodPost, path: "/", token: "t"})
			if tc.err != "" {
				require.ErrorContains(t, err, tc.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.want, a.order.ID)
		})
	}
}

func TestRawConn_Reuse_OnlyWhileTrusted(t *testing.T) {
	ok := "HTTP/1.1 201 Created\r\nContent-Length: 59\r\n\r\n" + orderJSON
	last := "HTTP/1.1 201 Created\r\nContent-Length: 59\r\nConnection: close\r\n\r\n" + orderJSON
	q := request{method: http.MethodPost, path: "/", token: "t"}
	for name, tc := range map[string]struct {
		answers []string
		between func(ws *rawConns)
		dials   int
	}{
		"at once: the same":                    {[]string{ok, ok}, func(*rawConns) {}, 1},
		"after a long pause: another":          {[]string{ok, ok}, func(ws *rawConns) { ws.free[0].used = time.Now().Add(-time.Minute) }, 2},
		"after the server said close: another": {[]string{last, ok}, func(*rawConns) {}, 2},
		"after a cut: another":                 {[]string{ok, ok}, func(ws *rawConns) { ws.cut() }, 2},
	} {
		t.Run(name, func(t *testing.T) {
			host, dials := speaking(t, tc.answers...)
			ws := newRawConns(host, 5*time.Second)
			defer ws.cut()
			_, err := ws.call(t.Context(), q)
			require.NoError(t, err)
			tc.between(ws)
			_, err = ws.call(t.Context(), q)
			require.NoError(t, err)
			require.Len(t, dials, tc.dials)
		})
	}
}

func TestRawConns_ContextDone_OpensNothing(t *testing.T) {
	host, _ := speaking(t)
	ws := newRawConns(host, 5*time.Second)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := ws.call(ctx, request{method: http.MethodPost, path: "/", token: "t"})
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, ws.open)
}

func TestRawConn_Request_IsReadableByNetHTTP(t *testing.T) {
	q := request{method: http.MethodPost, path: "/api/v1/coupons/1/orders", token: "abc", key: "rush-1"}
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(string(q.appendTo(nil, "host:80")))))
	require.NoError(t, err)
	require.Equal(t, "host:80", r.Host)
	require.Equal(t, "Bearer abc", r.Header.Get("Authorization"))
	require.Equal(t, "rush-1", r.Header.Get("Idempotency-Key"))
	require.Zero(t, r.ContentLength)
}

func TestRawConns_CutWhileAcquired_ReleasesNil(t *testing.T) {
	host, _ := speaking(t)
	ws := newRawConns(host, 5*time.Second)
	require.NoError(t, ws.warm(t.Context(), 1))
	w := ws.acquire()
	ws.cut()
	ws.release(w)
	require.Nil(t, ws.acquire().conn)
}
