package faultnet

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"
)

// LoseReplies drops the next n replies, and the connection with each, until the returned function is called.
// The server has then executed the request, and the client does not know.
func (p *Proxy) LoseReplies(n int32) (end func()) {
	c := counterOf(p.id)
	c.toLose.Store(n)
	stop := p.Inject(p.counting("lose_replies"))
	return func() { c.toLose.Store(0); stop() }
}

// SwallowRepliesAfter lets requests and the next n replies through. If another reply arrives on a connection
// after these n, the connection becomes a black hole. It stays a black hole after the returned function was
// called.
func (p *Proxy) SwallowRepliesAfter(n int32) (end func()) {
	c := counterOf(p.id)
	c.toPass.Store(n)
	p.Inject(p.counting("swallow_replies"))
	return func() { c.toPass.Store(math.MaxInt32) }
}

// Swallowed reports whether there were more replies than SwallowRepliesAfter had to let through.
func (p *Proxy) Swallowed() bool { return counterOf(p.id).toPass.Load() < 0 }

func (p *Proxy) counting(kind string) Fault {
	return fault(kind, replies, fmt.Sprintf(`"proxy":%d`, p.id))
}

// counter is shared by all connections of a proxy. toxiproxy copies a toxic for every connection, and the copy
// keeps only the fields of its JSON. The toxic therefore finds the counter by the proxy's number.
type counter struct{ toLose, toPass atomic.Int32 }

var (
	lastCounter atomic.Int64
	counters    sync.Map // from a proxy's number to its *counter
)

func newCounter() int64 {
	id := lastCounter.Add(1)
	counters.Store(id, &counter{})
	return id
}

// counterOf returns the counter of a proxy, or a new counter if the proxy is closed.
func counterOf(proxy int64) *counter {
	c, _ := counters.LoadOrStore(proxy, &counter{})
	return c.(*counter)
}

type loseReplies struct {
	Proxy int64 `json:"proxy"`
}

// Pipe implements toxics.Toxic.
func (l *loseReplies) Pipe(stub *toxics.ToxicStub) {
	of := counterOf(l.Proxy)
	pipe(stub, func(reply *stream.StreamChunk) (open bool) {
		if of.toLose.Add(-1) >= 0 {
			return false
		}
		stub.Output <- reply
		return true
	})
}

type swallowReplies struct {
	Proxy int64 `json:"proxy"`
}

// Pipe implements toxics.Toxic.
func (w *swallowReplies) Pipe(stub *toxics.ToxicStub) {
	of, silent := counterOf(w.Proxy), false
	pipe(stub, func(reply *stream.StreamChunk) (open bool) {
		if silent = silent || of.toPass.Add(-1) < 0; !silent {
			stub.Output <- reply
		}
		return true
	})
}

// pipe passes each reply to pass, until the connection ends or pass closes it.
func pipe(stub *toxics.ToxicStub, pass func(reply *stream.StreamChunk) (open bool)) {
	for {
		select {
		case <-stub.Interrupt:
			return
		case reply := <-stub.Input:
			if reply == nil || !pass(reply) {
				stub.Close()
				return
			}
		}
	}
}

// register registers the faults of this package with toxiproxy.
var register = sync.OnceFunc(func() {
	toxics.Register("lose_replies", new(loseReplies))
	toxics.Register("swallow_replies", new(swallowReplies))
})
