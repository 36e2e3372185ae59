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

// wires is the light path: the generator shares the machine with the server, so
// each microsecond it saves is one the server gets. One goroutine writes a
// request and reads its answer on one connection; net/http's two goroutines and
// their hand-over are left out, its parser of answers is kept.
type wires struct {
	host    string // as in the Host header
	addr    string // host:port to dial
	timeout time.Duration

	mu   sync.Mutex
	free []*wire // last in, first out, so that few connections go stale
	open map[net.Conn]struct{}
}

// wire is one connection, used by one request at a time.
type wire struct {
	conn net.Conn // nil when there is none yet, or no more
	in   *bufio.Reader
	out  []byte
	body bytes.Buffer
	used time.Time
}

func newWires(host string, timeout time.Duration) *wires {
	addr := host
	if _, _, err := net.SplitHostPort(host); err != nil {
		addr = net.JoinHostPort(host, "80")
	}
	return &wires{host: host, addr: addr, timeout: timeout, open: make(map[net.Conn]struct{})}
}

func (ws *wires) call(ctx context.Context, q request) (answer, error) {
	w := ws.take()
	defer ws.give(w)
	a, keep, err := ws.exchange(ctx, w, q)
	if !keep {
		ws.drop(w)
	}
	if err != nil {
		return answer{}, fmt.Errorf("%s %s: %w", q.method, q.path, err)
	}
	return a, nil
}

// exchange writes one request and reads its whole answer. The connection may be
// kept only if the answer was read to its last byte.
func (ws *wires) exchange(ctx context.Context, w *wire, q request) (a answer, keep bool, err error) {
	start := time.Now()
	if w.conn != nil && start.Sub(w.used) > staleAfter {
		ws.drop(w)
	}
	if w.conn == nil {
		if err := ws.dial(ctx, w); err != nil {
			return answer{}, false, err
		}
	}
	if err := w.conn.SetDeadline(start.Add(ws.timeout)); err != nil {
		return answer{}, false, fmt.Errorf("set the deadline: %w", err)
	}
	w.out = q.appendTo(w.out[:0], ws.host)
	if _, err := w.conn.Write(w.out); err != nil {
		return answer{}, false, fmt.Errorf("write the request: %w", err)
	}
	a, keep, err = w.read()
	w.used = time.Now()
	return a, keep, err
}

// read reads one answer and its body, passing over the interim ones (1xx).
func (w *wire) read() (a answer, keep bool, err error) {
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
		return understand(resp.StatusCode, resp.Header, w.body.Bytes()), !resp.Close, nil
	}
}

func (ws *wires) dial(ctx context.Context, w *wire) error {
	conn, err := (&net.Dialer{Timeout: ws.timeout}).DialContext(ctx, "tcp", ws.addr)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ctx.Err() != nil { // after a cut no connection may be left that it did not see
		_ = conn.Close()
		return fmt.Errorf("connect: %w", ctx.Err())
	}
	ws.open[conn] = struct{}{}
	w.conn, w.used = conn, time.Now()
	if w.in == nil {
		w.in = bufio.NewReaderSize(conn, 2<<10)
	} else {
		w.in.Reset(conn)
	}
	return nil
}

// warm opens n connections at once.
func (ws *wires) warm(ctx context.Context, n int) error {
	errs := make(chan error, n)
	for range n {
		go func() {
			w := &wire{}
			err := ws.dial(ctx, w)
			if err == nil {
				ws.give(w)
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

func (ws *wires) take() *wire {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if n := len(ws.free); n > 0 {
		w := ws.free[n-1]
		ws.free = ws.free[:n-1]
		return w
	}
	return &wire{}
}

func (ws *wires) give(w *wire) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if _, ok := ws.open[w.conn]; !ok {
		w.conn = nil // cut just after its answer was read
	}
	ws.free = append(ws.free, w)
}

func (ws *wires) drop(w *wire) {
	if w.conn == nil {
		return
	}
	ws.mu.Lock()
	delete(ws.open, w.conn)
	ws.mu.Unlock()
	_ = w.conn.Close() // nothing more is expected from it
	w.conn = nil
}

// cut ends every connection, also those in use: their requests fail at once,
// because a blocked read does not look at a context.
func (ws *wires) cut() {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for conn := range ws.open {
		_ = conn.Close() // as above
	}
	clear(ws.open)
	for _, w := range ws.free {
		w.conn = nil
	}
}
