package chaos

import (
	"context"
	"fmt"
	"strings"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
)

// proxy stands between the instances and a server, and behaves as networks do.
type proxy struct{ p *toxiproxy.Proxy }

func newProxy(upstream string) (*proxy, error) {
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(prometheus.NewRegistry()), zerolog.Nop())
	p := &proxy{toxiproxy.NewProxy(server, "chaos", "127.0.0.1:0", upstream)}
	if err := p.p.Start(); err != nil {
		return nil, fmt.Errorf("start the fault proxy: %w", err)
	}
	return p, nil
}

func (p *proxy) addr() string { return p.p.Listen }

func (p *proxy) close() { p.p.Stop() }

// point cuts every connection and forwards new ones to another server.
func (p *proxy) point(upstream string) error {
	p.p.Stop()
	p.p.Upstream = upstream
	if err := p.p.Start(); err != nil {
		return fmt.Errorf("start the fault proxy again: %w", err)
	}
	return nil
}

// The faults of a network.
const (
	cutting    = `{"name":"a","type":"reset_peer","stream":"upstream","attributes":{"timeout":0}}`
	noRequests = `{"name":"a","type":"timeout","stream":"upstream","attributes":{"timeout":0}}`
	noReplies  = `{"name":"b","type":"timeout","stream":"downstream","attributes":{"timeout":0}}`
	halfReply  = `{"name":"b","type":"limit_data","stream":"downstream","attributes":{"bytes":5000}}`
	fewReplies = `{"name":"b","type":"limit_data","stream":"downstream","attributes":{"bytes":400}}`
	lame       = `{"name":"b","type":"latency","stream":"downstream","attributes":{"latency":30,"jitter":30}}`
)

// add makes the network bad until the returned function is called.
func (p *proxy) add(toxics ...string) (func(), error) {
	end := func() { p.p.Toxics.ResetToxics(context.Background()) }
	for _, t := range toxics {
		if _, err := p.p.Toxics.AddToxicJson(strings.NewReader(t)); err != nil {
			end()
			return nil, fmt.Errorf("add a fault to the proxy: %w", err)
		}
	}
	return end, nil
}
