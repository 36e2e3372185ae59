package harness

import (
	"bytes"
	"net"
	"sync"
)

// Proxy is the network between an actor and a server. It loses replies and stalls only
// when it is told to.
type Proxy struct {
	listener net.Listener
	target   string

	mu        sync.Mutex
	pattern   []byte // the reply to a request that contains it is lost
	remaining int    // replies still to lose
	lost      int
	stalled   chan struct{} // closed by Resume; nil unless stalled
	conns     map[net.Conn]bool
	closed    bool
	all       sync.WaitGroup
}

// Proxy starts a proxy in front of the server at addr.
func (run *Run) Proxy(addr string) *Proxy {
	var config net.ListenConfig
	l, err := config.Listen(run.ctx, "tcp", "127.0.0.1:0")
	run.Must(err)
	w := &Proxy{listener: l, target: addr, conns: map[net.Conn]bool{}}
	w.all.Go(w.accept)
	run.OnStop(w.close)
	return w
}

// Addr returns the address that the actor connects to.
func (w *Proxy) Addr() string { return w.listener.Addr().String() }

// LoseReplies loses the replies to the next requests that contain the words: the server
// has executed the request, and the connection is closed in place of the reply.
func (w *Proxy) LoseReplies(words string, times int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pattern, w.remaining = []byte(words), times
}

// Lost returns the number of replies lost.
func (w *Proxy) Lost() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lost
}

// Stall holds up all traffic without closing a connection, so neither side can tell.
func (w *Proxy) Stall() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stalled == nil {
		w.stalled = make(chan struct{})
	}
}

// Stalled reports whether the proxy is stalled.
func (w *Proxy) Stalled() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stalled != nil
}

// Resume forwards what Stall held up.
func (w *Proxy) Resume() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stalled != nil {
		close(w.stalled)
		w.stalled = nil
	}
}

func (w *Proxy) accept() {
	for {
		from, err := w.listener.Accept()
		if err != nil {
			return
		}
		to, err := net.Dial("tcp", w.target) //nolint:noctx // on loopback it answers or refuses
		if err != nil {
			_ = from.Close()
			continue
		}
		if !w.keep(from, to) {
			return
		}
		pair := &pair{proxy: w, from: from, to: to}
		w.all.Go(func() { pair.pass(from, to, pair.request) })
		w.all.Go(func() { pair.pass(to, from, pair.reply) })
	}
}

// keep records connections, so that close can end them.
func (w *Proxy) keep(conns ...net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range conns {
		if w.conns[c] = true; w.closed {
			_ = c.Close()
		}
	}
	return !w.closed
}

func (w *Proxy) close() {
	w.Resume()
	_ = w.listener.Close()
	w.mu.Lock()
	w.closed = true
	for c := range w.conns {
		_ = c.Close()
	}
	w.mu.Unlock()
	w.all.Wait()
}

// pair is one connection through the proxy.
type pair struct {
	proxy    *Proxy
	from, to net.Conn
	mu       sync.Mutex
	loseNext bool // the next reply is lost
}

func (p *pair) request(data []byte) (passes bool) {
	w := p.proxy
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.remaining > 0 && bytes.Contains(data, w.pattern) {
		w.remaining--
		w.lost++
		p.mu.Lock()
		p.loseNext = true
		p.mu.Unlock()
	}
	return true
}

func (p *pair) reply([]byte) (passes bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.loseNext
}

func (p *pair) pass(from, to net.Conn, look func([]byte) bool) {
	defer func() { _, _ = p.from.Close(), p.to.Close() }()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil || !look(buffer[:n]) {
			return
		}
		p.proxy.mu.Lock()
		silent := p.proxy.stalled
		p.proxy.mu.Unlock()
		if silent != nil {
			<-silent
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}
