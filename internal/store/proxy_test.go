package store

import (
	"strings"
	"testing"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"seckill/internal/testbed/testservers"
)

// wire stands between the store and MariaDB and does what networks do.
type wire struct {
	t testing.TB
	*toxiproxy.Proxy
}

// onWire is a migrated store behind a wire, whose driver waits 300 ms for an answer,
// and one that reaches the same database directly.
func onWire(t *testing.T) (behind, direct *subject, w wire) {
	t.Helper()
	addr, dsn := testservers.MariaDB(t).Addr(), testservers.DSN(t)
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(prometheus.NewRegistry()), zerolog.Nop())
	w = wire{t, toxiproxy.NewProxy(server, t.Name(), "127.0.0.1:0", addr)}
	require.NoError(t, w.Start())
	t.Cleanup(w.Stop)
	direct = migrated(t, Options{MySQL: dsn})
	dsn = strings.NewReplacer(addr, w.Listen, "readTimeout=5s", "readTimeout=300ms").Replace(dsn)
	return opened(t, Options{MySQL: dsn}), direct, w
}

// onWires runs a test on a wire, with one transaction for each order and with one for
// many.
func onWires(t *testing.T, name string, test func(t *testing.T, s, direct *subject, w wire)) {
	t.Run(name+", single", func(t *testing.T) {
		s, direct, w := onWire(t)
		test(t, s, direct, w)
	})
	t.Run(name+", group", func(t *testing.T) {
		s, direct, w := onWire(t)
		s, _ = s.grouped(GroupOptions{})
		test(t, s, direct, w)
	})
}

// swallow lets nothing more through in one direction, "upstream" or "downstream",
// and says nothing about it.
func (w wire) swallow(direction string) {
	w.t.Helper()
	_, err := w.Toxics.AddToxicJson(strings.NewReader(
		`{"name":"` + direction + `","type":"timeout","stream":"` + direction + `","attributes":{"timeout":0}}`))
	require.NoError(w.t, err)
}

// mend lets everything through again, on new connections.
func (w wire) mend() {
	w.t.Helper()
	w.Stop()
	w.Toxics.ResetToxics(w.t.Context())
	require.NoError(w.t, w.Start())
}
