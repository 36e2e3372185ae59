package etcdlock

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
)

const (
	dialWithin = time.Second
	// silence is how long a connection must have been silent before a call that
	// was given up says that it is dead.
	silence = 250 * time.Millisecond
)

// wire knows the connections. One that swallows everything would be noticed by
// gRPC after many seconds, for etcd forbids frequent pings; and until then what an
// abandoned call left could not be cleaned up through it. So when a call is given
// up, a connection on which nothing has arrived since it began is cut, and gRPC
// makes a new one.
type wire struct {
	began time.Time

	mu    sync.Mutex
	conns map[*tappedConn]struct{}
}

func newWire() *wire { return &wire{began: time.Now(), conns: map[*tappedConn]struct{}{}} }

func (w *wire) config(endpoints []string, secure *tls.Config) clientv3.Config {
	quick := backoff.DefaultConfig
	quick.BaseDelay, quick.MaxDelay = 50*time.Millisecond, time.Second
	return clientv3.Config{
		Endpoints: endpoints,
		TLS:       secure,
		Logger:    zap.NewNop(), // every failure reaches the caller
		// Not more often than a server tolerates by default.
		DialKeepAliveTime:    10 * time.Second,
		DialKeepAliveTimeout: 3 * time.Second,
		DialTimeout:          dialWithin,
		DialOptions: []grpc.DialOption{
			grpc.WithContextDialer(w.dial),
			grpc.WithConnectParams(grpc.ConnectParams{Backoff: quick, MinConnectTimeout: dialWithin}),
		},
	}
}

func (w *wire) dial(ctx context.Context, addr string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("etcdlock: %w", err)
	}
	c := &tappedConn{Conn: conn, wire: w}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conns[c] = struct{}{}
	return c, nil
}

// watch guards one call: if ctx ends before the function returned is called, the
// connections that have been silent since now are cut, soon.
func (w *wire) watch(ctx context.Context) (done func()) {
	start := time.Now()
	stop := context.AfterFunc(ctx, func() {
		time.AfterFunc(max(0, silence-time.Since(start)), func() { w.cutSilent(start) })
	})
	return func() { stop() }
}

// cutSilent closes those that were written to and did not answer since start.
func (w *wire) cutSilent(start time.Time) {
	since := start.Sub(w.began).Nanoseconds()
	w.mu.Lock()
	var silent []*tappedConn
	for c := range w.conns {
		if c.wrote.Load() >= since && c.heard.Load() < since {
			silent = append(silent, c)
		}
	}
	w.mu.Unlock()
	for _, c := range silent {
		_ = c.Close() // gRPC sees it and connects anew
	}
}

// tappedConn remembers when it was last written to and heard from, in nanoseconds
// since the wire began.
type tappedConn struct {
	net.Conn
	wire         *wire
	wrote, heard atomic.Int64
}

func (c *tappedConn) Write(p []byte) (int, error) {
	c.wrote.Store(time.Since(c.wire.began).Nanoseconds())
	return c.Conn.Write(p) //nolint:wrapcheck // it is the net.Conn of gRPC
}

func (c *tappedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.heard.Store(time.Since(c.wire.began).Nanoseconds())
	}
	return n, err //nolint:wrapcheck // it is the net.Conn of gRPC
}

func (c *tappedConn) Close() error {
	c.wire.mu.Lock()
	delete(c.wire.conns, c)
	c.wire.mu.Unlock()
	return c.Conn.Close() //nolint:wrapcheck // it is the net.Conn of gRPC
}
