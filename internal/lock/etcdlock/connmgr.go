package etcdlock

import (
	"context"
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
	checks  = 4 // looks at a connection on which something is unanswered, but not for so long
)

// connManager knows the connections. One that swallows everything would be noticed by
// gRPC after many seconds, for etcd forbids frequent pings; and until then what an
// abandoned call left could not be cleaned up through it. So when a call is given
// up, a connection that has left something unanswered is cut, soon, and gRPC makes a
// new one.
type connManager struct {
	began time.Time

	mu    sync.Mutex
	conns map[*trackedConn]struct{}
}

func newConnManager() *connManager {
	return &connManager{began: time.Now(), conns: map[*trackedConn]struct{}{}}
}

func (w *connManager) config(endpoints []string, o Options) clientv3.Config {
	quick := backoff.DefaultConfig
	quick.BaseDelay, quick.MaxDelay = 50*time.Millisecond, time.Second
	return clientv3.Config{
		Endpoints: endpoints,
		TLS:       o.TLS,
		Logger:    zap.NewNop(), // every failure reaches the caller
		// Not more often than a server tolerates by default.
		DialKeepAliveTime:    10 * time.Second,
		DialKeepAliveTimeout: 3 * time.Second,
		DialTimeout:          dialWithin,
		DialOptions: append((&login{user: o.Username, password: o.Password}).options(),
			grpc.WithContextDialer(w.dial),
			grpc.WithConnectParams(grpc.ConnectParams{Backoff: quick, MinConnectTimeout: dialWithin}),
		),
	}
}

func (w *connManager) dial(ctx context.Context, addr string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("etcdlock: %w", err)
	}
	c := &trackedConn{Conn: conn, manager: w}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conns[c] = struct{}{}
	return c, nil
}

// watch guards one call: if ctx ends before the function returned is called, the
// connections that are silent then are cut.
func (w *connManager) watch(ctx context.Context) (done func()) {
	start := time.Now()
	stop := context.AfterFunc(ctx, func() { w.cutSilent(start, checks) })
	return func() {
		// A caller that waits for ctx may learn of its end before the function does, and stop it.
		if stop() && ctx.Err() != nil {
			w.cutSilent(start, checks)
		}
	}
}

// cutSilent closes those that have left something unanswered for too long since
// start, and looks again for what may become too long.
func (w *connManager) cutSilent(start time.Time, again int) {
	now, since := time.Since(w.began), start.Sub(w.began)
	var silent []*trackedConn
	soonest := time.Duration(0)
	w.mu.Lock()
	for c := range w.conns {
		asked := time.Duration(c.asked.Load())
		left := silence - (now - max(asked, since))
		switch {
		case asked == 0:
		case left <= 0:
			silent = append(silent, c)
		case soonest == 0 || left < soonest:
			soonest = left
		}
	}
	w.mu.Unlock()
	for _, c := range silent {
		_ = c.Close() // gRPC sees it and connects anew
	}
	if soonest > 0 && again > 0 {
		time.AfterFunc(soonest, func() { w.cutSilent(start, again-1) })
	}
}

// trackedConn remembers when it was first written to after it was last heard from,
// in nanoseconds since the connManager was made.
type trackedConn struct {
	net.Conn
	manager *connManager
	asked   atomic.Int64 // 0 when everything was answered
}

func (c *trackedConn) Write(p []byte) (int, error) {
	c.asked.CompareAndSwap(0, max(1, time.Since(c.manager.began).Nanoseconds()))
	return c.Conn.Write(p) //nolint:wrapcheck // it is the net.Conn of gRPC
}

func (c *trackedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.asked.Store(0)
	}
	return n, err //nolint:wrapcheck // it is the net.Conn of gRPC
}

func (c *trackedConn) Close() error {
	c.manager.mu.Lock()
	delete(c.manager.conns, c)
	c.manager.mu.Unlock()
	return c.Conn.Close() //nolint:wrapcheck // it is the net.Conn of gRPC
}
