package zklock

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/seckill/internal/lock/deadpeer"
)

const (
	dialWithin = time.Second
	// secureWithin allows for a handshake: the first handshake of a Java server takes long.
	secureWithin = 5 * time.Second

	dialEvery = 100 * time.Millisecond // while the servers are unavailable
)

// connManager makes the connections of one session, one at a time. It chooses the server
// (zk.HostProvider), so that it can make a broken connection again at once. It reads from the
// greeting the session timeout that the server granted, because the library keeps it to itself. A
// Detector cuts a connection that does not answer. The library would notice that only after two
// thirds of the session.
type connManager struct {
	*deadpeer.Detector
	away    func(error) // called when a server cannot be reached
	secure  *tls.Config // nil: no TLS
	granted atomic.Int64
	watches atomic.Bool // the library may have watches to set again

	mu      sync.Mutex
	servers []string
	next    int
	failed  bool // the last attempt
	conn    *trackedConn
	closing chan struct{}
	shuts   bool // nothing goes out any more
}

var _ zk.HostProvider = (*connManager)(nil)

func newConnManager(servers []string, secure *tls.Config, away func(error)) *connManager {
	return &connManager{Detector: deadpeer.New(), away: away, secure: secure, servers: servers, closing: make(chan struct{})}
}

// timeout returns the session timeout that the server granted last.
func (w *connManager) timeout() time.Duration {
	return time.Duration(w.granted.Load()) * time.Millisecond
}

// Init implements zk.HostProvider; the servers are known already.
func (w *connManager) Init([]string) error { return nil }

// Len returns the number of servers.
func (w *connManager) Len() int { return len(w.servers) }

// Connected implements zk.HostProvider.
func (w *connManager) Connected() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failed = false
}

// Next returns the server to try. all means that all servers were tried. Only then the library
// checks whether it was closed, and pauses for a second.
func (w *connManager) Next() (server string, all bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next++
	return w.servers[w.next%len(w.servers)], w.isClosing()
}

func (w *connManager) isClosing() bool {
	select {
	case <-w.closing:
		return true
	default:
		return false
	}
}

// dial connects, with a pause before it if the last attempt led to no session.
func (w *connManager) dial(network, address string, _ time.Duration) (net.Conn, error) {
	w.mu.Lock()
	again := w.failed
	w.failed = true // until Connected
	w.mu.Unlock()
	if again {
		select {
		case <-time.After(dialEvery):
		case <-w.closing:
		}
	}
	within := dialWithin
	if w.secure != nil {
		within = secureWithin
	}
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	conn, err := w.connect(ctx, network, address)
	if err != nil {
		w.away(err)
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.shuts {
		_ = conn.Close()
		return nil, errors.New("shut")
	}
	w.conn = &trackedConn{Conn: w.Track(conn), manager: w}
	return w.conn, nil
}

func (w *connManager) connect(ctx context.Context, network, address string) (net.Conn, error) {
	if w.secure == nil {
		return (&net.Dialer{}).DialContext(ctx, network, address) //nolint:wrapcheck // the library logs it
	}
	return (&tls.Dialer{Config: w.secure}).DialContext(ctx, network, address) //nolint:wrapcheck // the same
}

// shut makes the library end at its next check. If mute, the session sends nothing to the server
// any more, not even its own end.
func (w *connManager) shut(mute bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.isClosing() {
		close(w.closing)
	}
	w.shuts = w.shuts || mute
	if mute && w.conn != nil {
		_ = w.conn.Close()
	}
}

// trackedConn reads the greeting, and holds back an answer while the library sets its watches
// again.
type trackedConn struct {
	*deadpeer.Conn
	manager  *connManager
	greeting []byte // used by the one goroutine that reads
	greeted  atomic.Bool
	heard    bool         // an answer after the greeting; used by the one goroutine that reads
	writes   atomic.Int64 // orders what was written before what is read then
}

// watchesWithin is how long the first answer on a new connection is held back while the library
// sets its watches again. The library sets them relative to the last transaction that it has read.
// Its reader may already be at a later transaction, because it takes no lock
// (github.com/go-zookeeper/zk/pull/35). The library would then miss the events in between.
const watchesWithin = 100 * time.Millisecond

// A greeting begins with its length, the protocol's version, the timeout in milliseconds and the
// session's id. The id is zero if the session has expired.
const (
	timeoutAt, idAt = 8, 12
	greetingEnds    = 20
)

func (c *trackedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.greeted.Load() && !c.heard && n > 0 {
		c.heard = true
		if c.manager.watches.Load() {
			time.Sleep(watchesWithin)
		}
	}
	_ = c.writes.Load()
	if !c.greeted.Load() {
		c.greeting = append(c.greeting, p[:n]...)
		if len(c.greeting) >= greetingEnds {
			if binary.BigEndian.Uint64(c.greeting[idAt:]) != 0 {
				c.manager.granted.Store(int64(binary.BigEndian.Uint32(c.greeting[timeoutAt:])))
			}
			c.greeted.Store(true)
		}
	}
	return n, err
}

func (c *trackedConn) Write(p []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(p)
}

// SetReadDeadline allows a greeting no more time than a dial. The library would wait for many times
// the session.
func (c *trackedConn) SetReadDeadline(t time.Time) error {
	if latest := time.Now().Add(dialWithin); !c.greeted.Load() && t.After(latest) {
		t = latest
	}
	return c.Conn.SetReadDeadline(t) //nolint:wrapcheck // it is the net.Conn of the library
}
