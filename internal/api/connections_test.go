package api

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// dialed is a listener whose connections a test makes, from any address.
type dialed struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newDialed() *dialed { return &dialed{conns: make(chan net.Conn), done: make(chan struct{})} }

func (d *dialed) Accept() (net.Conn, error) {
	select {
	case c := <-d.conns:
		return c, nil
	case <-d.done:
		return nil, net.ErrClosed
	}
}

func (d *dialed) Addr() net.Addr { return &net.TCPAddr{} }
func (d *dialed) Close() error   { d.once.Do(func() { close(d.done) }); return nil }

// from is a connection that comes from an address.
type from struct {
	net.Conn
	address string
}

func (f from) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(f.address), 4711))
}

// dial returns the client's end of a new connection from the address, once it is accepted.
func (d *dialed) dial(t *testing.T, address string) net.Conn {
	t.Helper()
	client, server := net.Pipe()
	t.Cleanup(func() { _ = client.Close(); _ = server.Close() })
	select {
	case d.conns <- from{server, address}:
	case <-time.After(10 * time.Second):
		require.Fail(t, "the listener does not accept")
	}
	return client
}

// serveOn serves the API on a listener within the limits.
func serveOn(t *testing.T, l net.Listener, o ConnLimits) net.Listener {
	t.Helper()
	o.Log = slog.New(slog.DiscardHandler)
	bound, err := Listen(l, o)
	require.NoError(t, err)
	h := &http.Server{Handler: newShop().serve(t, Options{}).Handler(), ConnContext: ConnContext, ReadHeaderTimeout: time.Minute}
	served := make(chan error, 1)
	go func() { served <- h.Serve(bound) }()
	t.Cleanup(func() {
		require.NoError(t, h.Close())
		require.ErrorIs(t, <-served, http.ErrServerClosed)
	})
	return bound
}

// answered reports whether a request on the connection is, rather than the connection closed.
func answered(t *testing.T, c net.Conn) bool {
	t.Helper()
	if _, err := io.WriteString(c, "GET /api/v1/coupons/1 HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		return false
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return false
	}
	require.NoError(t, resp.Body.Close())
	return resp.StatusCode == http.StatusOK
}

func TestConnections_OneAddress_HasOnlyItsShare(t *testing.T) {
	for name, tc := range map[string]struct {
		first, second string
		together      bool
	}{
		"one address":                   {"203.0.113.7", "203.0.113.7", true},
		"two addresses":                 {"203.0.113.7", "203.0.113.8", false},
		"one IPv6 network":              {"2001:db8::1", "2001:db8::2", true},
		"two IPv6 networks":             {"2001:db8::1", "2001:db8:0:1::1", false},
		"IPv4 in IPv6":                  {"203.0.113.7", "::ffff:203.0.113.7", true},
		"a trusted proxy":               {"10.1.2.3", "10.1.2.3", false},
		"a trusted proxy in IPv6":       {"::ffff:10.1.2.3", "10.1.2.3", false},
		"a trusted address":             {"192.0.2.5", "192.0.2.5", false},
		"a trusted network inside IPv6": {"172.16.0.9", "172.16.0.9", false},
		"this machine":                  {"127.0.0.1", "127.0.0.1", false},
	} {
		t.Run(name, func(t *testing.T) {
			l := newDialed()
			serveOn(t, l, ConnLimits{Max: 100, PerAddress: 2, TrustedProxies: []string{"10.0.0.0/8", "192.0.2.5", "::ffff:172.16.0.0/108"}})
			kept := []net.Conn{l.dial(t, tc.first), l.dial(t, tc.second)}
			require.Equal(t, !tc.together, answered(t, l.dial(t, tc.first)))
			for _, c := range kept {
				require.True(t, answered(t, c), "what was there stays")
			}
			require.NoError(t, kept[0].Close())
			require.Eventually(t, func() bool { return answered(t, l.dial(t, tc.first)) }, 10*time.Second, 10*time.Millisecond,
				"one has gone, and another may come")
		})
	}
}

func TestConnections_AboveLimit_Wait(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	bound := serveOn(t, inner, ConnLimits{Max: 2}).(*boundListener)
	dial := func() net.Conn {
		c, err := net.Dial("tcp", inner.Addr().String())
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	silent := []net.Conn{dial(), dial()}
	require.Eventually(t, func() bool { return len(bound.slots) == 2 }, 10*time.Second, time.Millisecond)
	waits := dial()
	got := make(chan bool, 1)
	go func() { got <- answered(t, waits) }() //nolint:testifylint // it fails the test all the same
	select {
	case <-got:
		require.Fail(t, "there are more connections than there may be")
	case <-time.After(100 * time.Millisecond):
	}
	require.NoError(t, silent[0].Close())
	require.True(t, <-got)
	require.NoError(t, waits.Close())
	require.NoError(t, silent[1].Close())
	// The loop of the listener has one, for the connection that is to come.
	require.Eventually(t, func() bool { return len(bound.slots) <= 1 && len(bound.from) == 0 }, 10*time.Second, time.Millisecond)
}

func TestListen_InvalidTrustedProxy_ReturnsError(t *testing.T) {
	for _, text := range []string{"hunter2", "10.0.0.0/33", ""} {
		_, err := Listen(newDialed(), ConnLimits{Max: 1, TrustedProxies: []string{text}})
		require.ErrorContains(t, err, "trusted proxies")
	}
}

func TestServer_TwoContentLengths_RefusesAndCloses(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	serveOn(t, inner, ConnLimits{Max: 100})
	const (
		get    = "GET /api/v1/coupons/1 HTTP/1.1\r\nHost: x\r\n"
		chunks = "Transfer-Encoding: chunked\r\n"
		length = "Content-Length: 5\r\n"
	)
	for name, tc := range map[string]struct {
		sent string
		want string // the statuses that are answered before the connection is closed, if it is
	}{
		"chunks first":             {get + chunks + length + "\r\n0\r\n\r\n" + get + "\r\n", "400"},
		"the length first":         {get + length + chunks + "\r\n0\r\n\r\n" + get + "\r\n", "400"},
		"in capitals":              {get + strings.ToUpper(length) + strings.ToUpper(chunks) + "\r\n0\r\n\r\n" + get + "\r\n", "400"},
		"line feeds alone":         {strings.ReplaceAll(get+length+chunks+"\r\n0\r\n\r\n"+get+"\r\n", "\r", ""), "400"},
		"after a good one":         {get + "\r\n" + get + length + chunks + "\r\n0\r\n\r\n" + get + "\r\n", "200 400"},
		"after a body":             {get + "Content-Length: 2\r\n\r\n{}" + get + length + chunks + "\r\n0\r\n\r\n" + get + "\r\n", "200 400"},
		"an HTTP/1.0 request":      {strings.Replace(get, "1.1", "1.0", 1) + "Connection: keep-alive\r\n" + length + chunks + "\r\n0\r\n\r\n" + get + "\r\n", "400"},
		"the length alone":         {get + length + "\r\n{   }" + get + "\r\n", "200 200"},
		"chunks alone":             {get + chunks + "\r\n0\r\n\r\n" + get + "\r\n", "200 200"},
		"one after the other":      {get + chunks + "\r\n0\r\n\r\n" + get + length + "\r\n{   }", "200 200"},
		"headers of similar names": {get + chunks + "X-Content-Length: 5\r\nContent-Lengths: 5\r\n\r\n0\r\n\r\n" + get + "\r\n", "200 200"},
	} {
		for _, piece := range []int{1, 7, 4096} {
			t.Run(fmt.Sprint(name, ", in pieces of ", piece), func(t *testing.T) {
				require.Equal(t, tc.want, statuses(t, inner.Addr().String(), tc.sent, piece))
			})
		}
	}
}

// statuses sends the text in pieces and returns the statuses of the responses, until there is none.
func statuses(t *testing.T, addr, text string, piece int) string {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer c.Close() //nolint:errcheck // of a test
	requests := strings.Count(text, "HTTP/1.")
	go func() {
		for text != "" {
			n := min(piece, len(text))
			if _, err := io.WriteString(c, text[:n]); err != nil {
				return
			}
			text = text[n:]
			if piece == 7 {
				time.Sleep(time.Millisecond) // some pieces are read alone
			}
		}
	}()
	var got []string
	in := bufio.NewReader(c)
	for range requests {
		require.NoError(t, c.SetReadDeadline(time.Now().Add(10*time.Second)))
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			break
		}
		got = append(got, strconv.Itoa(resp.StatusCode))
		_, err = io.Copy(io.Discard, resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		if resp.StatusCode == http.StatusBadRequest {
			require.True(t, resp.Close)
		}
	}
	return strings.Join(got, " ")
}
