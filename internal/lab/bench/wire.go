package bench

import (
	"bytes"
	"net"
	"sync"
)

// Wire is a network between an actor and a server: it loses answers and falls silent
// when it is told to, and not by chance.
type Wire struct {
	listener net.Listener
	target   string

	mu     sync.Mutex
	words  []byte // an answer to a request with these is lost
	times  int    // so often
	lost   int
	silent chan struct{} // closed when it speaks again; nil while it does
	conns  map[net.Conn]bool
	closed bool
	all    sync.WaitGroup
}

// Wire makes a network in front of the server at addr.
func (b *Bench) Wire(addr string) *Wire {
	var config net.ListenConfig
	l, err := config.Listen(b.ctx, "tcp", "127.0.0.1:0")
	b.Must(err)
	w := &Wire{listener: l, target: addr, conns: map[net.Conn]bool{}}
	w.all.Go(w.accept)
	b.OnStop(w.close)
	return w
}

// Addr is where the actor connects to.
func (w *Wire) Addr() string { return w.listener.Addr().String() }

// LoseAnswers loses the answers to the next requests that contain the words: the server
// has done what it was asked, and the connection is cut instead of telling so.
func (w *Wire) LoseAnswers(words string, times int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.words, w.times = []byte(words), times
}

// Lost is how many answers were lost.
func (w *Wire) Lost() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lost
}

// Silence lets nothing through, and cuts nothing: neither side can tell.
func (w *Wire) Silence() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.silent == nil {
		w.silent = make(chan struct{})
	}
}

// Silent says whether it is.
func (w *Wire) Silent() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.silent != nil
}

// Speak lets through what was held up.
func (w *Wire) Speak() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.silent != nil {
		close(w.silent)
		w.silent = nil
	}
}

func (w *Wire) accept() {
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
		pair := &pair{wire: w, from: from, to: to}
		w.all.Go(func() { pair.pass(from, to, pair.request) })
		w.all.Go(func() { pair.pass(to, from, pair.answer) })
	}
}

// keep remembers connections, so that close can end them.
func (w *Wire) keep(conns ...net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range conns {
		if w.conns[c] = true; w.closed {
			_ = c.Close()
		}
	}
	return !w.closed
}

func (w *Wire) close() {
	w.Speak()
	_ = w.listener.Close()
	w.mu.Lock()
	w.closed = true
	for c := range w.conns {
		_ = c.Close()
	}
	w.mu.Unlock()
	w.all.Wait()
}

// pair is one connection through the wire.
type pair struct {
	wire     *Wire
	from, to net.Conn
	mu       sync.Mutex
	cut      bool // the next answer is lost
}

func (p *pair) request(data []byte) (passes bool) {
	w := p.wire
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.times > 0 && bytes.Contains(data, w.words) {
		w.times--
		w.lost++
		p.mu.Lock()
		p.cut = true
		p.mu.Unlock()
	}
	return true
}

func (p *pair) answer([]byte) (passes bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.cut
}

func (p *pair) pass(from, to net.Conn, look func([]byte) bool) {
	defer func() { _, _ = p.from.Close(), p.to.Close() }()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil || !look(buffer[:n]) {
			return
		}
		p.wire.mu.Lock()
		silent := p.wire.silent
		p.wire.mu.Unlock()
		if silent != nil {
			<-silent
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}
