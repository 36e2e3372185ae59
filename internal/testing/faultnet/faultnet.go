// Package faultnet stands between a program and its servers and does what networks do:
//
//	program ──▶ Proxy ──▶ server        Cut, Join, Point    connections
//	                                    Mend
//	                                    Inject              Reset, BlackHole, NoRequests, NoReplies,
//	                                                        CutRepliesAfter, DelayRequests, DelayReplies
//	                                    LoseReplies         single replies
//	                                    SwallowRepliesAfter
//
// It is toxiproxy (https://github.com/Shopify/toxiproxy) with two faults more, for which a request is
// executed and its reply does not arrive. It does not change the bytes that it forwards, and it does not know where
// a request or a reply ends. A reply is the bytes of one read, so tests count replies of servers that have one
// request at a time.
//
// The lab has a small proxy of its own, because it is part of the released program, which has no
// need of toxiproxy and its sixteen dependencies otherwise.
package faultnet

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
)

// Proxy forwards connections to a server, or to each of several. Its methods may be called at any
// time and by many goroutines.
type Proxy struct {
	proxies []*toxiproxy.Proxy
	id      int64 // of its counter
}

// New starts a proxy in front of upstream. Several addresses, separated by commas, get a proxy each, and every
// method acts on all of them. The caller must call Close.
func New(upstream string) (*Proxy, error) {
	register()
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(prometheus.NewRegistry()), zerolog.Nop())
	p := &Proxy{id: newCounter()}
	for one := range strings.SplitSeq(upstream, ",") {
		proxy, err := start(server, one)
		if err != nil {
			p.Close()
			return nil, fmt.Errorf("start a proxy in front of %s: %w", one, err)
		}
		p.proxies = append(p.proxies, proxy)
	}
	return p, nil
}

// The ports of proxies are above those that Linux gives to connections. A connection that took the port of a proxy
// while that is cut would keep Join from listening there.
const firstPort, lastPort, portTries = 61000, 65535, 50

func start(server *toxiproxy.ApiServer, upstream string) (proxy *toxiproxy.Proxy, err error) {
	for range portTries {
		port := firstPort + rand.IntN(lastPort-firstPort+1) //nolint:gosec // a port is no secret
		proxy = toxiproxy.NewProxy(server, "faultnet", "127.0.0.1:"+strconv.Itoa(port), upstream)
		if err = proxy.Start(); err == nil {
			return proxy, nil
		}
	}
	return nil, err //nolint:wrapcheck // New wraps it
}

// Close breaks every connection and frees the ports.
func (p *Proxy) Close() {
	p.Cut()
	counters.Delete(p.id)
}

// Addr returns the address of the proxy, or the addresses of the proxies, separated by commas. Connect to it instead
// of the server.
func (p *Proxy) Addr() string {
	addrs := make([]string, 0, len(p.proxies))
	for _, proxy := range p.proxies {
		addrs = append(addrs, proxy.Listen)
	}
	return strings.Join(addrs, ",")
}

// Cut breaks every connection and refuses new ones until Join. It returns when the clients' own systems
// know that their connections have ended.
func (p *Proxy) Cut() {
	for _, proxy := range p.proxies {
		proxy.Stop()
		awaitEnds(proxy.Listen)
	}
}

// awaitEnds waits, for a second at most, until no connection to addr is established at its client. Only Linux reports
// that; on other systems awaitEnds returns at once. The goroutine that uses a connection last closes it, and on a
// busy machine its end arrives later still. A client that asks in between would be cut in the middle of a call, and
// not between two.
func awaitEnds(addr string) {
	port := netip.MustParseAddrPort(addr).Port()
	pause := time.Millisecond // longer and longer: a look costs as much
	for until := time.Now().Add(time.Second); established(port) && time.Now().Before(until); pause = min(2*pause, 50*time.Millisecond) {
		time.Sleep(pause)
	}
}

// Join accepts connections again after Cut, at the same address. It fails if another program has
// taken the port in the meantime.
func (p *Proxy) Join() error {
	for _, proxy := range p.proxies {
		if err := proxy.Start(); err != nil {
			return fmt.Errorf("start the proxy at %s again: %w", proxy.Listen, err)
		}
	}
	return nil
}

// Point breaks every connection and forwards new ones to another server: an address that moves.
func (p *Proxy) Point(upstream string) error {
	p.Cut()
	for _, proxy := range p.proxies {
		proxy.Upstream = upstream
	}
	return p.Join()
}

// Inject makes the network bad until the returned function is called, which is safe to call twice.
// Bytes that a fault swallowed are gone, and their connections are closed.
func (p *Proxy) Inject(faults ...Fault) (end func()) {
	var ends []func()
	for _, proxy := range p.proxies {
		for _, f := range faults {
			for _, t := range f.toxics {
				ends = append(ends, add(proxy, t))
			}
		}
	}
	return func() {
		for _, end := range ends {
			end()
		}
	}
}

// Mend ends every injected fault and breaks every connection, so that the next calls are on good ones.
func (p *Proxy) Mend() error {
	p.Cut()
	for _, proxy := range p.proxies {
		proxy.Toxics.ResetToxics(context.Background())
	}
	return p.Join()
}

// add panics for a toxic that toxiproxy does not know: only this package writes them.
func add(proxy *toxiproxy.Proxy, t toxic) (remove func()) {
	w, err := proxy.Toxics.AddToxicJson(strings.NewReader(t.json()))
	if err != nil {
		panic(fmt.Sprintf("faultnet: %+v: %v", t, err))
	}
	return func() { _ = proxy.Toxics.RemoveToxic(context.Background(), w.Name) }
}
