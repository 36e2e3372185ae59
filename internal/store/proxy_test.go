package store

import (
	"strings"
	"testing"

	"example.com/seckill/internal/testing/faultnet"
	"example.com/seckill/internal/testing/testservers"
)

// behindProxy returns a migrated store behind a proxy, whose driver waits 300 ms for an answer, and
// one that reaches the same database directly.
func behindProxy(t *testing.T) (behind, direct *subject, p *faultnet.Proxy) {
	t.Helper()
	addr, dsn := testservers.MariaDB(t).Addr(), migratedDSN(t)
	p = testservers.Proxy(t, addr)
	direct = opened(t, Options{MySQL: dsn})
	dsn = strings.NewReplacer(addr, p.Addr(), "readTimeout=5s", "readTimeout=300ms").Replace(dsn)
	return opened(t, Options{MySQL: dsn}), direct, p
}

// behindProxies runs a test behind a proxy, with one transaction for each order and with one for
// many.
func behindProxies(t *testing.T, name string, test func(t *testing.T, s, direct *subject, p *faultnet.Proxy)) {
	t.Run(name+", single", func(t *testing.T) {
		s, direct, p := behindProxy(t)
		test(t, s, direct, p)
	})
	t.Run(name+", group", func(t *testing.T) {
		s, direct, p := behindProxy(t)
		s, _ = s.grouped(CommitOptions{})
		test(t, s, direct, p)
	})
}
