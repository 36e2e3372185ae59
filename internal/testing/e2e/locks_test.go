package e2e_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"example.com/seckill/internal/testing/testservers"
	"example.com/seckill/internal/tools/rush"
)

// lockServers starts what each lock.backend needs, as the environment of a fleet.
var lockServers = map[string]func(t testing.TB) []string{
	"redis": func(testing.TB) []string { return nil },
	"mysql": func(testing.TB) []string { return nil },
	"redlock": func(t testing.TB) []string {
		var addrs []string
		for range 3 {
			addrs = append(addrs, testservers.NewRedis(t).Addr())
		}
		return []string{"SECKILL_LOCK__ADDRS=" + strings.Join(addrs, ",")}
	},
	"etcd":      func(t testing.TB) []string { return []string{"SECKILL_LOCK__ADDRS=" + testservers.Etcd(t).Addr()} },
	"zookeeper": func(t testing.TB) []string { return []string{"SECKILL_LOCK__ADDRS=" + testservers.ZooKeeper(t).Addr()} },
}

func TestLocks_EveryBackend_SellsExactly(t *testing.T) {
	t.Parallel()
	for _, backend := range testservers.Sample(t, 2, slices.Sorted(maps.Keys(lockServers))) {
		t.Run(backend, func(t *testing.T) {
			s := newShop(t, append(lockServers[backend](t), "SECKILL_LOCK__BACKEND="+backend)...)
			fleet := s.fleet(t)
			const stock = 200
			id := fleet[0].sale(t, stock, 1)
			sum := total(rushEach(t, fleet, rush.Options{
				Users: 400, Coupon: id, DoubleTapEvery: 3, CancelPercent: 10,
				AdminToken: token(t, 1, "admin"), Concurrency: 16,
			}))
			assert.Zero(t, sum.Failed, "%v", sum.Failures)
			mopUp(t, fleet[1], id, 1_000_000)
			got := s.auditedTwice(t, fleet[2], id)
			assert.Equal(t, stock, got.Live)
			assert.Zero(t, got.Oversold+got.Duplicates)
			codes := tapAtOnce(t, fleet, 77_000_000, fleet[0].sale(t, 50, 1), 12)
			assert.Equal(t, 1, codes[""], "%v", codes)
		})
	}
}

func TestServe_LockServersUnavailable_NamesBackendAndExits(t *testing.T) {
	testservers.OneOf(t, 2)
	t.Parallel()
	for _, backend := range []string{"etcd", "zookeeper", "redlock"} {
		t.Run(backend, func(t *testing.T) {
			s := newShop(t, "SECKILL_LOCK__BACKEND="+backend, "SECKILL_LOCK__ADDRS=127.0.0.1:1,127.0.0.1:2,127.0.0.1:3",
				"SECKILL_HTTP__ADDR=127.0.0.1:0", "SECKILL_ADMIN__ADDR=127.0.0.1:0")
			p := run(t, s.env, "serve")
			assert.Equal(t, 1, p.code())
			assert.Contains(t, p.err.String(), "lock.backend "+backend+" does not answer")
		})
	}
}
