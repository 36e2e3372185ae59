package redisconn_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"seckill/internal/redisconn"
	"seckill/internal/testbed/testservers"
)

func TestMain(m *testing.M) { testservers.Main(m) }

// recovery is what a client may take to find a new master.
const recovery = 10 * time.Second

func open(t *testing.T, o redisconn.Options) redis.UniversalClient {
	t.Helper()
	client, err := redisconn.Open(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return client
}

// proxy stands before upstream until the test ends.
func proxy(t *testing.T, upstream string) *toxiproxy.Proxy {
	t.Helper()
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(prometheus.NewRegistry()), zerolog.Nop())
	p := toxiproxy.NewProxy(server, t.Name(), "127.0.0.1:0", upstream)
	require.NoError(t, p.Start())
	t.Cleanup(p.Stop)
	return p
}

// faults by which a reply is lost after the command was executed.
var faults = map[string]string{
	"the connection ends":     `{"type":"limit_data","stream":"downstream","attributes":{"bytes":0}}`,
	"the reply never arrives": `{"type":"timeout","stream":"downstream","attributes":{"timeout":0}}`,
}

func inject(t *testing.T, p *toxiproxy.Proxy, fault string) {
	t.Helper()
	toxic, err := p.Toxics.AddToxicJson(strings.NewReader(fault))
	require.NoError(t, err)
	t.Cleanup(func() { _ = p.Toxics.RemoveToxic(context.Background(), toxic.Name) })
}
