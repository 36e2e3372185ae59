package e2e_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/testservers"
	"example.com/seckill/internal/tools/servers"
)

// tried is one request to buy, with its result and its duration.
type tried struct {
	status int
	code   string
	took   time.Duration
}

// tries are buyers that come one after the other.
type tries struct {
	*instance
	coupon string
	user   int64
}

func (b *tries) buy(t testing.TB) tried {
	t.Helper()
	b.user++
	c := b.as(t, b.user)
	began := time.Now()
	r := c.buy(b.coupon, fmt.Sprint("bounds-", b.user))
	return tried{r.status, r.code(), time.Since(began)}
}

// until buys until an answer has this status, and tells how long that took and how
// long the slowest answer.
func (b *tries) until(t testing.TB, status int, limit time.Duration) (took, slowest time.Duration) {
	t.Helper()
	began := time.Now()
	for {
		one := b.buy(t)
		slowest = max(slowest, one.took)
		if one.status == status {
			return time.Since(began), slowest
		}
		if time.Since(began) > limit {
			t.Fatalf("after %s: no %d, but %+v", limit, status, one)
		}
	}
}

// fault is something that happens to a server, and its end.
type fault struct{ begin, end func() error }

// away measures a fault: the first 503, the answers while the store is known to be
// away, and the first order after it is back.
func (b *tries) away(t *testing.T, name string, f fault, known, back time.Duration) {
	t.Helper()
	require.Equal(t, http.StatusCreated, b.buy(t).status)
	require.NoError(t, f.begin())
	first, slowest := b.until(t, http.StatusServiceUnavailable, 10*time.Second)
	for range 2 { // three silences, and it is known to be away
		slowest = max(slowest, b.buy(t).took)
	}
	time.Sleep(time.Second) // the background work meets it too
	var took []time.Duration
	for range 20 {
		one := b.buy(t)
		require.Equal(t, http.StatusServiceUnavailable, one.status, "%+v", one)
		took = append(took, one.took)
	}
	slices.Sort(took)
	slowest = max(slowest, took[len(took)-1])
	most := took[len(took)*9/10-1] // a machine with more to do than it can lets one or another wait
	require.NoError(t, f.end())
	recovered, _ := b.until(t, http.StatusCreated, back)
	t.Logf("%s: first 503 after %s (slowest answer %s), known to be away 18 of 20 within %s, sold again after %s",
		name, first, slowest, most, recovered)
	assert.Less(t, slowest, budget, "every answer")
	assert.Less(t, most, known, "nine of ten answers once it is known to be away")
}

func TestPurchase_RedisUnavailable_FailsAtOnce(t *testing.T) {
	testservers.OneOf(t, 2)
	r := testservers.NewRedis(t)
	s := shop{redis: redis.NewClient(&redis.Options{Addr: r.Addr()})}
	t.Cleanup(func() { _ = s.redis.Close() })
	s = s.with("SECKILL_REDIS__ADDRS=" + r.Addr()).on(migratedDSN(t))
	i := s.instance(t)
	b := &tries{instance: i, coupon: i.sale(t, 1000, 1)}
	b.away(t, "stopped", fault{r.Pause, r.Resume}, 200*time.Millisecond, 5*time.Second)
	b.away(t, "killed", fault{r.Kill, func() error { return r.Restart(t.Context()) }}, 200*time.Millisecond, 10*time.Second)
	b.finish(t, s)
}

func TestRequests_DatabaseDown_AreAnsweredInTheirBudget(t *testing.T) {
	testservers.OneOf(t, 2)
	m := testservers.NewMariaDB(t)
	name, err := m.CreateDatabase(t.Context())
	require.NoError(t, err)
	addr := testservers.NewRedis(t).Addr()
	s := shop{redis: redis.NewClient(&redis.Options{Addr: addr})}
	t.Cleanup(func() { _ = s.redis.Close() })
	s = s.with("SECKILL_REDIS__ADDRS="+addr, "SECKILL_ORDER__RECONCILE_AFTER=2s").migrated(t, m.DSN(name))
	i := s.instance(t)
	b := &tries{instance: i, coupon: i.sale(t, 1000, 1)}
	b.away(t, "stopped", fault{m.Pause, m.Resume}, 200*time.Millisecond, 10*time.Second)
	b.away(t, "killed", fault{m.Kill, func() error { return m.Restart(t.Context()) }}, 200*time.Millisecond, 10*time.Second)
	b.finish(t, s)
}

// finish holds the sale against every invariant, and Redis against the database.
func (b *tries) finish(t *testing.T, s shop) {
	t.Helper()
	s.auditedTwice(t, b.instance, b.coupon)
}

// restored waits for a new epoch's stock: the log says when.
func (i *instance) restored(t testing.TB, times int) {
	t.Helper()
	within(t, 10*time.Second, func() error {
		if n := strings.Count(i.err.String(), "stock loaded again"); n < times {
			return fmt.Errorf("the stock was loaded again %d times", n)
		}
		return nil
	})
}

func TestRecovery_RedisLosesData_NeedsNoOperator(t *testing.T) {
	testservers.OneOf(t, 2)
	t.Parallel()
	r := testservers.NewRedis(t)
	s := shop{redis: redis.NewClient(&redis.Options{Addr: r.Addr()})}
	t.Cleanup(func() { _ = s.redis.Close() })
	s = s.with("SECKILL_REDIS__ADDRS=" + r.Addr()).on(migratedDSN(t))
	i := s.instance(t)
	b := &tries{instance: i, coupon: i.sale(t, 1000, 1)}
	// The instance detects the loss of its worker number up to a third of the lease later. Until it leases another number,
	// orders get no id.
	sell := func(n int) {
		began := time.Now()
		for n > 0 {
			one := b.buy(t)
			if one.status == http.StatusCreated {
				n--
				continue
			}
			require.Equal(t, http.StatusServiceUnavailable, one.status, "%+v", one)
			require.Less(t, time.Since(began), 5*time.Second, "%+v", one)
		}
	}
	restart := func() error {
		if err := r.Kill(); err != nil {
			return err
		}
		return r.Restart(t.Context())
	}
	for n, harm := range []struct {
		name  string
		steps func() error
	}{
		{"flushed", func() error { return s.redis.FlushAll(t.Context()).Err() }},
		{"killed and started empty", restart},
		{"killed and started with an old file", func() error {
			if err := s.redis.Save(t.Context()).Err(); err != nil {
				return err
			}
			sell(5)
			return restart()
		}},
	} {
		sell(3)
		require.NoError(t, harm.steps())
		began := time.Now()
		i.restored(t, n+1)
		rebuilt := time.Since(began)
		sold, _ := b.until(t, http.StatusCreated, 10*time.Second)
		t.Logf("%s: rebuilt after %s, sold again %s later", harm.name, rebuilt, sold)
		s.auditedTwice(t, i, b.coupon)
	}
}

// A replica that had not heard of the last writes becomes the master: old data under
// the same epoch.
func TestRecovery_FailoverForgetsWrites_NeedsNoOperator(t *testing.T) {
	testservers.OneOf(t, 2)
	t.Parallel()
	group := testservers.NewSentinel(t)
	master, err := group.Master(t.Context())
	require.NoError(t, err)
	s := shop{redis: redis.NewClient(&redis.Options{Addr: master.Addr()})}
	t.Cleanup(func() { _ = s.redis.Close() })
	s = s.with("SECKILL_REDIS__MODE=sentinel", "SECKILL_REDIS__MASTER_NAME="+group.MasterName(),
		"SECKILL_REDIS__ADDRS="+strings.Join(group.SentinelAddrs(), ",")).on(migratedDSN(t))
	i := s.instance(t)
	b := &tries{instance: i, coupon: i.sale(t, 1000, 1)}
	forget(t, b, group.Nodes(), master)
	began := time.Now()
	i.restored(t, 1)
	rebuilt := time.Since(began)
	b.until(t, http.StatusCreated, 10*time.Second)
	t.Logf("Sentinel: rebuilt %s after the master's death", rebuilt)
	s.auditedTwice(t, i, b.coupon)
}

func TestRecovery_ClusterMasterForgetsWrites_NeedsNoOperator(t *testing.T) {
	testservers.OneOf(t, 2)
	t.Parallel()
	group := testservers.NewCluster(t, servers.Set("cluster-require-full-coverage", "no"))
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: group.Addrs()})
	s := shop{redis: client}
	t.Cleanup(func() { _ = s.redis.Close() })
	s = s.with("SECKILL_REDIS__MODE=cluster", "SECKILL_REDIS__ADDRS="+strings.Join(group.Addrs(), ",")).on(migratedDSN(t))
	i := s.instance(t)
	b := &tries{instance: i, coupon: i.sale(t, 1000, 1)}
	owner, err := client.MasterForKey(t.Context(), "seckill:{"+b.coupon+":0}:stock")
	require.NoError(t, err)
	for _, n := range group.Nodes() {
		if n.Addr() == owner.Options().Addr {
			forget(t, b, group.Nodes(), n)
		}
	}
	began := time.Now()
	i.restored(t, 1)
	t.Logf("Cluster: rebuilt %s after the master's death", time.Since(began))
	s.auditedTwice(t, i, b.coupon)
}

// forget stops the master's replicas, sells, and kills the master before the replicas go on. No other server has the
// units that were sold meanwhile.
func forget(t *testing.T, b *tries, nodes []*servers.Redis, master *servers.Redis) {
	t.Helper()
	for range 3 {
		require.Equal(t, http.StatusCreated, b.buy(t).status)
	}
	for _, n := range nodes {
		if n != master {
			aside := redis.NewClient(&redis.Options{Addr: n.Addr()})
			host, port, _ := strings.Cut(master.Addr(), ":")
			role, err := aside.Info(t.Context(), "replication").Result()
			require.NoError(t, err)
			if strings.Contains(role, "master_host:"+host) && strings.Contains(role, "master_port:"+port) {
				require.NoError(t, n.Pause())
				defer func() { require.NoError(t, n.Resume()) }()
			}
			require.NoError(t, aside.Close())
		}
	}
	// Without connections nothing waits in them for the replicas.
	aside := redis.NewClient(&redis.Options{Addr: master.Addr()})
	defer func() { require.NoError(t, aside.Close()) }()
	require.NoError(t, aside.Do(t.Context(), "CLIENT", "KILL", "TYPE", "replica").Err())
	for range 12 {
		require.Equal(t, http.StatusCreated, b.buy(t).status)
	}
	require.NoError(t, master.Kill())
}
