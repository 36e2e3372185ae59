package rush

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// staleAfter is how long an unused connection is trusted. A server may close an
// idle one at any time, and a request written at that moment would look lost.
const staleAfter = time.Second

// rawConns is the transport over connections of its own, for plain http. The generator
// shares the machine with the server, so each microsecond that it saves is one for the
// server: one goroutine writes a request and reads its answer on one connection, without
// the two goroutines of net/http and their hand-over. The parser is net/http's.
type rawConns struct {
	host    string // as in the Host header
	addr    string // host:port to dial
	timeout time.Duration

	mu   sync.Mutex
	free []*rawConn // last in, first out, so that few connections go stale
	open map[net.Conn]struct{}
}

// rawConn is one connection, used by one request at a time.
type rawConn struct {
	conn net.Conn // nil when there is none yet, or no more
	in   *bufio.Reader
	out  []byte
	body bytes.Buffer
	used time.Time
}

func newRawConns(host string, timeout time.Duration) *rawConns {
	addr := host
	if _, _, err := net.SplitHostPort(host); err != nil {
		addr = net.JoinHostPort(host, "80")
	}
	return &rawConns{host: host, addr: addr, timeout: timeout, open: make(map[net.Conn]struct{})}
}

func (rc *rawConns) call(ctx context.Context, q request) (answer, error) {
	w := rc.acquire()
	defer rc.release(w)
	a, keep, err := rc.exchange(ctx, w, q)
	if !keep {
		rc.drop(w)
	}
	if err != nil {
		return answer{}, fmt.Errorf("%s %s: %w", q.method, q.path, err)
	}
	return a, nil
}

// exchange writes one request and reads its whole answer. The connection may be
// kept only if the answer was read to its last byte.
func (rc *rawConns) exchange(ctx context.Context, w *rawConn, q request) (a answer, keep bool, err error) {
	start := time.Now()
	if w.conn != nil && start.Sub(w.used) > staleAfter {
		rc.drop(w)
	}
	if w.conn == nil {
		if err := rc.dial(ctx, w); err != nil {
			return answer{}, false, err
		}
	}
	if err := w.conn.SetDeadline(start.Add(rc.timeout)); err != nil {
		return answer{}, false, fmt.Errorf("set the deadline: %w", err)
	}
	w.out = q.appendTo(w.out[:0], rc.host)
	if _, err := w.conn.Write(w.out); err != nil {
		return answer{}, false, fmt.Errorf("write the request: %w", err)
	}
	a, keep, err = w.read()
	w.used = time.Now()
	return a, keep, err
}

// read reads one answer and its body, passing over the interim ones (1xx).
func (w *rawConn) read() (a answer, keep bool, err error) {
	for {
		resp, err := http.ReadResponse(w.in, nil)
		if err != nil {
			return answer{}, false, fmt.Errorf("read the answer: %w", err)
		}
		if resp.StatusCode < 200 && resp.StatusCode != http.StatusSwitchingProtocols {
			continue
		}
		w.body.Reset()
		n, err := w.body.ReadFrom(io.LimitReader(resp.Body, maxBody+1))
		_ = resp.Body.Close() // it holds nothing that is not on the connection
		if err != nil {
			return answer{}, false, fmt.Errorf("read the answer's body: %w", err)
		}
		if n > maxBody {
			return answer{}, false, errTooLarge
		}
		return parseAnswer(resp.StatusCode, resp.Header, w.body.Bytes()), !resp.Close, nil
	}
}

func (rc *rawConns) dial(ctx context.Context, w *rawConn) error {
	conn, err := (&net.Dialer{Timeout: rc.timeout}).DialContext(ctx, "tcp", rc.addr)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	rc.mu.Lock()
	defer rc.mu.Unlock()
	if ctx.Err() != nil { // after a cut no connection may be left that it did not see
		_ = conn.Close()
		return fmt.Errorf("connect: %w", ctx.Err())
	}
	rc.open[conn] = struct{}{}
	w.conn, w.used = conn, time.Now()
	if w.in == nil {
		w.in = bufio.NewReaderSize(conn, 2<<10)
	} else {
		w.in.Reset(conn)
	}
	return nil
}

// warm opens n connections at once.
func (rc *rawConns) warm(ctx context.Context, n int) error {
	errs := make(chan error, n)
	for range n {
		go func() {
			w := &rawConn{}
			err := rc.dial(ctx, w)
			if err == nil {
				rc.release(w)
			}
			errs <- err
		}()
	}
	var first error
	for range n {
		if err := <-errs; err != nil && first == nil {
			first = err
		}
	}
	return first
}

func (rc *rawConns) acquire() *rawConn {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	if n := len(rc.free); n > 0 {
		w := rc.free[n-1]
		rc.free = rc.free[:n-1]
		return w
	}
	return &rawConn{}
}

func (rc *rawConns) release(w *rawConn) {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	if _, ok := rc.open[w.conn]; !ok {
		w.conn = nil // cut just after its answer was read
	}
	rc.free = append(rc.free, w)
}

func (rc *rawConns) drop(w *rawConn) {
	if w.conn == nil {
		return
	}
	rc.mu.Lock()
	delete(rc.open, w.conn)
	rc.mu.Unlock()
	_ = w.conn.Close() // nothing more is expected from it
	w.conn = nil
}

// cut ends every connection, also those in use: their requests fail at once,
// because a blocked read does not look at a context.
func (rc *rawConns) cut() {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	for conn := range rc.open {
		_ = conn.Close() // as above
	}
	clear(rc.open)
	for _, w := range rc.free {
		w.conn = nil
	}
}
