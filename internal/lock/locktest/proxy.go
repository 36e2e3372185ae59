package locktest

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/Shopify/toxiproxy/v2/toxics"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
)

// Proxy stands between a backend and its server, or each of its servers, and does
// what networks do.
type Proxy struct {
	t       testing.TB
	proxies []*toxiproxy.Proxy
	id      int64
}

// NewProxy stands before upstream until the test ends. Several servers, parted by
// commas, get a proxy each, and what is done is done to all of them.
func NewProxy(t testing.TB, upstream string) *Proxy {
	t.Helper()
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(prometheus.NewRegistry()), zerolog.Nop())
	p := &Proxy{t: t, id: lastProxy.Add(1)}
	counters.Store(p.id, &counter{})
	t.Cleanup(func() { counters.Delete(p.id) })
	for one := range strings.SplitSeq(upstream, ",") {
		proxy := toxiproxy.NewProxy(server, t.Name(), "127.0.0.1:0", one)
		require.NoError(t, proxy.Start())
		t.Cleanup(proxy.Stop)
		p.proxies = append(p.proxies, proxy)
	}
	return p
}

// Addr is where to connect instead of to the server, or servers.
func (p *Proxy) Addr() string {
	var addrs []string
	for _, proxy := range p.proxies {
		addrs = append(addrs, proxy.Listen)
	}
	return strings.Join(addrs, ",")
}

// Cut breaks every connection and refuses new ones, until Join.
func (p *Proxy) Cut() {
	for _, proxy := range p.proxies {
		proxy.Stop()
	}
}

// Join accepts connections again, at the same address.
func (p *Proxy) Join() {
	for _, proxy := range p.proxies {
		require.NoError(p.t, proxy.Start())
	}
}

// Reset breaks every connection, and each new one at once. Unlike Cut it keeps the
// port, which another program could take in the meantime.
func (p *Proxy) Reset() (end func()) {
	return p.add(`{"name":"reset","type":"reset_peer","stream":"upstream","attributes":{"timeout":0}}`)
}

// Swallow lets nothing through in either direction and says nothing about it: a
// black hole. The function returned ends it; what was swallowed is gone.
func (p *Proxy) Swallow() (end func()) {
	a := p.add(`{"name":"hole-up","type":"timeout","stream":"upstream","attributes":{"timeout":0}}`)
	b := p.add(`{"name":"hole-down","type":"timeout","stream":"downstream","attributes":{"timeout":0}}`)
	return func() { a(); b() }
}

// SwallowRepliesAfter lets requests through, and the next n replies; connections
// on which more of them come are black holes from then on, also after the end.
func (p *Proxy) SwallowRepliesAfter(n int32) (end func()) {
	c := counterOf(p.id)
	c.toPass.Store(n)
	p.add(fmt.Sprintf(`{"name":"swallow","type":"swallow_replies","stream":"downstream","attributes":{"proxy":%d}}`, p.id))
	return func() { c.toPass.Store(math.MaxInt32) }
}

// Swallowed reports whether there were more replies than were to pass.
func (p *Proxy) Swallowed() bool { return counterOf(p.id).toPass.Load() < 0 }

// Delay holds every request back for ms milliseconds.
func (p *Proxy) Delay(ms string) (end func()) {
	return p.add(`{"name":"slow","type":"latency","stream":"upstream","attributes":{"latency":` + ms + `}}`)
}

// LoseReplies drops the next n replies, and the connection with each. The server
// has then done what it was asked, and the client does not know.
func (p *Proxy) LoseReplies(n int32) (end func()) {
	c := counterOf(p.id)
	c.toLose.Store(n)
	stop := p.add(fmt.Sprintf(`{"name":"lose","type":"lose_replies","stream":"downstream","attributes":{"proxy":%d}}`, p.id))
	return func() { c.toLose.Store(0); stop() }
}

func (p *Proxy) add(toxic string) (remove func()) {
	p.t.Helper()
	var all []func()
	for _, proxy := range p.proxies {
		w, err := proxy.Toxics.AddToxicJson(strings.NewReader(toxic))
		require.NoError(p.t, err)
		all = append(all, func() { _ = proxy.Toxics.RemoveToxic(context.Background(), w.Name) })
	}
	return func() {
		for _, remove := range all {
			remove()
		}
	}
}

// counter is shared by all connections of a proxy. The toxics are copied for every
// connection and keep only numbers, so they find it by the proxy's.
type counter struct{ toLose, toPass atomic.Int32 }

var (
	lastProxy atomic.Int64
	counters  sync.Map // from a proxy's number to its *counter
)

// counterOf returns an unset one if the proxy is gone.
func counterOf(proxy int64) *counter {
	c, _ := counters.LoadOrStore(proxy, &counter{})
	return c.(*counter)
}

type loseReplies struct {
	Proxy int64 `json:"proxy"`
}

func (l *loseReplies) Pipe(stub *toxics.ToxicStub) {
	of := counterOf(l.Proxy)
	for {
		select {
		case <-stub.Interrupt:
			return
		case c := <-stub.Input:
			if c == nil || of.toLose.Add(-1) >= 0 {
				stub.Close()
				return
			}
			stub.Output <- c
		}
	}
}

type swallowReplies struct {
	Proxy int64 `json:"proxy"`
}

func (w *swallowReplies) Pipe(stub *toxics.ToxicStub) {
	of := counterOf(w.Proxy)
	for {
		select {
		case <-stub.Interrupt:
			return
		case c := <-stub.Input:
			switch {
			case c == nil:
				stub.Close()
				return
			case of.toPass.Add(-1) >= 0:
				stub.Output <- c
			default:
				hole(stub)
				return
			}
		}
	}
}

// hole takes everything and gives nothing until the connection ends.
func hole(stub *toxics.ToxicStub) {
	for {
		select {
		case <-stub.Interrupt:
			return
		case c := <-stub.Input:
			if c == nil {
				stub.Close()
				return
			}
		}
	}
}

func init() {
	toxics.Register("lose_replies", new(loseReplies))
	toxics.Register("swallow_replies", new(swallowReplies))
}
