package locktest

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// StallProxy is a proxy between a backend and its server, or each of its servers. It delivers late: a request
// that was sent arrives, even if its sender has hung up by then.
type StallProxy struct {
	t     testing.TB
	addrs []string

	mu      sync.Mutex
	conns   []net.Conn
	passing chan struct{} // closed unless the proxy is stalled
	hold    *heldRequest  // nil when no request is to be held
}

// heldRequest is a request that is delivered late.
type heldRequest struct {
	skip                   int // requests to let through before
	held, deliver, replied chan struct{}
	ended                  <-chan struct{} // closed with its connection; read after held
}

// NewStallProxy starts a proxy in front of upstream that runs until the test ends. If upstream lists several
// servers, separated by commas, each gets a listener.
func NewStallProxy(t testing.TB, upstream string) *StallProxy {
	t.Helper()
	p := &StallProxy{t: t, passing: make(chan struct{})}
	close(p.passing)
	for one := range strings.SplitSeq(upstream, ",") {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		p.addrs = append(p.addrs, l.Addr().String())
		t.Cleanup(func() { _ = l.Close() })
		go p.serve(l, one)
	}
	t.Cleanup(func() {
		p.mu.Lock()
		for _, c := range p.conns {
			_ = c.Close()
		}
		p.mu.Unlock()
	})
	return p
}

// Addr returns the address to connect to instead of the server's, or one address per server.
func (p *StallProxy) Addr() string { return strings.Join(p.addrs, ",") }

// Stall lets nothing through in either direction, until the returned function is called. Then everything
// arrives.
func (p *StallProxy) Stall() (end func()) {
	passing := make(chan struct{})
	p.mu.Lock()
	p.passing = passing
	p.mu.Unlock()
	end = sync.OnceFunc(func() { close(passing) })
	p.t.Cleanup(end)
	return end
}

// Hold holds the request that follows after skip others, and cuts off its sender. deliver sends the request and
// returns when the server has answered it or hung up. deliver reports whether there was such a request.
func (p *StallProxy) Hold(skip int) (deliver func() bool) {
	h := &heldRequest{skip: skip, held: make(chan struct{}), deliver: make(chan struct{}), replied: make(chan struct{})}
	p.mu.Lock()
	p.hold = h
	p.mu.Unlock()
	release := sync.OnceFunc(func() { close(h.deliver) })
	p.t.Cleanup(release)
	return func() bool {
		p.mu.Lock()
		p.hold = nil
		p.mu.Unlock()
		release()
		select {
		case <-h.held:
		default:
			return false
		}
		select {
		case <-h.replied:
		case <-h.ended:
		case <-time.After(10 * time.Second):
			assert.Fail(p.t, "the server did not answer to the late request")
		}
		return true
	}
}

// holds counts a request, and returns the heldRequest if this request is the one to hold.
func (p *StallProxy) holds() *heldRequest {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.hold
	if h == nil {
		return nil
	}
	if h.skip--; h.skip >= 0 {
		return nil
	}
	p.hold = nil
	return h
}

func (p *StallProxy) serve(l net.Listener, upstream string) {
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}
		server, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", upstream)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, client, server)
		p.mu.Unlock()
		late, ended := make(chan *heldRequest, 1), make(chan struct{})
		go p.requests(client, server, late, ended)
		go func() { defer close(ended); p.replies(server, client, late) }()
	}
}

// requests forwards the requests of the client, and then signals their end to the server.
func (p *StallProxy) requests(client, server net.Conn, late chan<- *heldRequest, ended <-chan struct{}) {
	defer func() { _ = server.(*net.TCPConn).CloseWrite() }()
	buffer := make([]byte, 1<<16)
	for {
		n, err := client.Read(buffer)
		if err != nil {
			return
		}
		p.pass()
		if h := p.holds(); h != nil {
			h.ended = ended
			close(h.held) // before the sender learns of the end and checks
			_ = client.Close()
			<-h.deliver
			late <- h
		}
		if _, err := server.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// replies forwards the replies of the server, or drops them when the client has hung up.
func (p *StallProxy) replies(server, client net.Conn, late <-chan *heldRequest) {
	defer func() { _, _ = client.Close(), server.Close() }()
	buffer := make([]byte, 1<<16)
	for {
		n, err := server.Read(buffer)
		select {
		case h := <-late:
			close(h.replied)
		default:
		}
		if err != nil {
			return
		}
		p.pass()
		_, _ = client.Write(buffer[:n])
	}
}

// pass waits while the proxy is stalled.
func (p *StallProxy) pass() {
	p.mu.Lock()
	passing := p.passing
	p.mu.Unlock()
	<-passing
}
