package locktest

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/Shopify/toxiproxy/v2/toxics"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
)

// Proxy stands between a backend and its server and does what networks do.
type Proxy struct {
	t     testing.TB
	proxy *toxiproxy.Proxy
}

// NewProxy stands before upstream until the test ends.
func NewProxy(t testing.TB, upstream string) *Proxy {
	t.Helper()
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(prometheus.NewRegistry()), zerolog.Nop())
	p := toxiproxy.NewProxy(server, t.Name(), "127.0.0.1:0", upstream)
	require.NoError(t, p.Start())
	t.Cleanup(p.Stop)
	return &Proxy{t: t, proxy: p}
}

// Addr is where to connect instead of to the server.
func (p *Proxy) Addr() string { return p.proxy.Listen }

// Cut breaks every connection and refuses new ones, until Join.
func (p *Proxy) Cut() { p.proxy.Stop() }

// Join accepts connections again, at the same address.
func (p *Proxy) Join() { require.NoError(p.t, p.proxy.Start()) }

// Swallow lets nothing through in either direction and says nothing about it: a
// black hole. The function returned ends it; what was swallowed is gone.
func (p *Proxy) Swallow() (end func()) {
	a := p.add(`{"name":"hole-up","type":"timeout","stream":"upstream","attributes":{"timeout":0}}`)
	b := p.add(`{"name":"hole-down","type":"timeout","stream":"downstream","attributes":{"timeout":0}}`)
	return func() { a(); b() }
}

// SwallowReplies lets requests through and no reply.
func (p *Proxy) SwallowReplies() (end func()) {
	return p.add(`{"name":"hole-down","type":"timeout","stream":"downstream","attributes":{"timeout":0}}`)
}

// Delay holds every request back for ms milliseconds.
func (p *Proxy) Delay(ms string) (end func()) {
	return p.add(`{"name":"slow","type":"latency","stream":"upstream","attributes":{"latency":` + ms + `}}`)
}

// LoseReplies drops the next n replies, and the connection with each. The server
// has then done what it was asked, and the client does not know.
func (p *Proxy) LoseReplies(n int32) (end func()) {
	toLose.Store(n)
	stop := p.add(`{"name":"lose","type":"lose_replies","stream":"downstream"}`)
	return func() { toLose.Store(0); stop() }
}

func (p *Proxy) add(toxic string) (remove func()) {
	p.t.Helper()
	w, err := p.proxy.Toxics.AddToxicJson(strings.NewReader(toxic))
	require.NoError(p.t, err)
	return func() { _ = p.proxy.Toxics.RemoveToxic(context.Background(), w.Name) }
}

// toLose is shared by all connections of all proxies: the toxics of one proxy
// are copied for every connection. So tests that lose replies do not run at once.
var toLose atomic.Int32

type loseReplies struct{}

func (*loseReplies) Pipe(stub *toxics.ToxicStub) {
	for {
		select {
		case <-stub.Interrupt:
			return
		case c := <-stub.Input:
			if c == nil || toLose.Add(-1) >= 0 {
				stub.Close()
				return
			}
			stub.Output <- c
		}
	}
}

func init() { toxics.Register("lose_replies", new(loseReplies)) }
