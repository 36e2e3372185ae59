// Package deadpeer cuts connections that have left a call unanswered.
//
//	a call is given up ─┬─ silent for 250 ms: the connection is closed, and its client makes a new one
//	                    └─ not for so long yet: looked at again then
//
// The clients of etcd and ZooKeeper send all calls over one connection. If a connection swallows
// everything, they notice it only after many seconds. Until then no cleanup after an abandoned call
// could pass through the connection. The package does not promise that a connection that it cuts
// was dead.
package deadpeer

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// silence is how long a connection must have been silent to count as dead, when a call on it is
	// given up.
	silence = 250 * time.Millisecond
	checks  = 4 // repeated checks, while something has been unanswered for less than silence
)

// Detector tracks the connections of a client.
type Detector struct {
	began time.Time

	mu    sync.Mutex
	conns map[*Conn]struct{}
}

// New returns a Detector that tracks no connection.
func New() *Detector { return &Detector{began: time.Now(), conns: map[*Conn]struct{}{}} }

// Track returns conn, which the Detector tracks until it is closed.
func (d *Detector) Track(conn net.Conn) *Conn {
	c := &Conn{Conn: conn, detector: d}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.conns[c] = struct{}{}
	return c
}

// Watch guards one call. If ctx ends before the caller calls the returned function, the Detector
// cuts the connections that are silent then.
func (d *Detector) Watch(ctx context.Context) (done func()) {
	start := time.Now()
	stop := context.AfterFunc(ctx, func() { d.cutSilent(start, checks) })
	return func() {
		// A caller that waits for ctx may learn of its end before the AfterFunc does, and stop the
		// AfterFunc.
		if stop() && ctx.Err() != nil {
			d.cutSilent(start, checks)
		}
	}
}

// cutSilent closes the connections that have left something unanswered for too long since start. It
// checks again when another connection may have been silent for too long.
func (d *Detector) cutSilent(start time.Time, again int) {
	now, since := time.Since(d.began), start.Sub(d.began)
	var silent []*Conn
	soonest := time.Duration(0)
	d.mu.Lock()
	for c := range d.conns {
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
	d.mu.Unlock()
	for _, c := range silent {
		_ = c.Close() // the client detects it and connects again
	}
	if soonest > 0 && again > 0 {
		time.AfterFunc(soonest, func() { d.cutSilent(start, again-1) })
	}
}

// Conn remembers when it was first written to after it last received something, in nanoseconds
// since the Detector was made.
type Conn struct {
	net.Conn
	detector *Detector
	asked    atomic.Int64 // 0 when everything was answered
}

// Write writes, and begins to wait for an answer.
func (c *Conn) Write(p []byte) (int, error) {
	c.asked.CompareAndSwap(0, max(1, time.Since(c.detector.began).Nanoseconds()))
	return c.Conn.Write(p) //nolint:wrapcheck // it is the client's net.Conn
}

// Read reads. Any data counts as an answer.
func (c *Conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.asked.Store(0)
	}
	return n, err //nolint:wrapcheck // it is the client's net.Conn
}

// Close closes the connection. The Detector tracks it no longer.
func (c *Conn) Close() error {
	c.detector.mu.Lock()
	delete(c.detector.conns, c)
	c.detector.mu.Unlock()
	return c.Conn.Close() //nolint:wrapcheck // it is the client's net.Conn
}
