package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/testservers"
	"example.com/seckill/internal/tools/rush"
)

// shop is the stores that a fleet has in common, as the environment of its
// processes: an empty database on the shared MariaDB, migrated, and a Redis.
type shop struct {
	env   []string
	redis redis.UniversalClient
}

// newShop has a Redis of its own.
func newShop(t testing.TB, env ...string) shop {
	t.Helper()
	return redisShop(t, env...).on(migratedDSN(t))
}

// newShopOver is newShop over an empty database that the test can reach too.
func newShopOver(t testing.TB, dsn string, env ...string) shop {
	t.Helper()
	return redisShop(t, env...).migrated(t, dsn)
}

func redisShop(t testing.TB, env ...string) shop {
	t.Helper()
	addr := testservers.NewRedis(t).Addr()
	s := shop{redis: redis.NewClient(&redis.Options{Addr: addr})}
	t.Cleanup(func() { _ = s.redis.Close() })
	return s.with("SECKILL_REDIS__ADDRS=" + addr).with(env...)
}

// migratedDSN is a new database on the shared MariaDB, with the schema that `seckill migrate` makes.
func migratedDSN(t testing.TB) string {
	t.Helper()
	return testservers.MigratedDSN(t, func(_ context.Context, dsn string) error {
		if code := run(t, shop{}.with("SECKILL_REDIS__ADDRS=127.0.0.1:1").on(dsn).env, "migrate").code(); code != 0 {
			return fmt.Errorf("seckill migrate: exit code %d", code)
		}
		return nil
	})
}

func (s shop) on(dsn string) shop {
	return s.with("SECKILL_MYSQL__DSN="+dsn, "SECKILL_AUTH__SECRET="+secret)
}

// ownDatabase leads to a database on a server of its own, all of which may be stalled.
func ownDatabase(t testing.TB) (dsn string) {
	t.Helper()
	m := testservers.NewMariaDB(t)
	name, err := m.CreateDatabase(t.Context())
	require.NoError(t, err)
	return m.DSN(name)
}

func (s shop) with(env ...string) shop {
	s.env = append(append([]string(nil), s.env...), env...)
	return s
}

func (s shop) migrated(t testing.TB, dsn string) shop {
	t.Helper()
	s = s.on(dsn)
	require.Zero(t, run(t, s.env, "migrate").code())
	return s
}

// impatient are the shortest times that the configuration takes: a dead instance's
// lock is free after a second, and its holds are settled after as long.
func impatient() []string {
	return []string{
		"SECKILL_ORDER__TX_TIMEOUT=500ms", "SECKILL_LOCK__TTL=1s", "SECKILL_ORDER__RECONCILE_AFTER=1s",
		"SECKILL_ORDER__BACKGROUND_INTERVAL=250ms",
	}
}

func (s shop) instance(t testing.TB, env ...string) *instance {
	t.Helper()
	return serve(t, s.with(env...).env...)
}

// fleet is three instances on the shop's stores.
func (s shop) fleet(t testing.TB) []*instance {
	t.Helper()
	fleet := make([]*instance, 3)
	for n := range fleet {
		fleet[n] = launchServe(t, s.env...)
	}
	for _, i := range fleet {
		i.url, i.admin = i.serving(t)
	}
	t.Cleanup(func() { // all at once, so that the test ends sooner
		for _, i := range fleet {
			i.signal(t, syscall.SIGTERM)
		}
	})
	return fleet
}

// draft makes a coupon that is not on sale yet; its window is open.
func (i *instance) draft(t testing.TB, stock, limit int) string {
	t.Helper()
	now := time.Now().UTC()
	r := i.asAdmin(t).do(http.MethodPost, "/api/v1/admin/coupons", fmt.Sprintf(
		`{"title":"A coupon","stock":%d,"limit_per_user":%d,"price_cents":990,"begins_at":%q,"ends_at":%q}`,
		stock, limit, now.Add(-time.Minute).Format(time.RFC3339), now.Add(time.Hour).Format(time.RFC3339)))
	return r.sold(t, http.StatusCreated).ID
}

// sale makes a coupon and puts it on sale.
func (i *instance) sale(t testing.TB, stock, limit int) string {
	t.Helper()
	id := i.draft(t, stock, limit)
	r := i.asAdmin(t).do(http.MethodPost, "/api/v1/admin/coupons/"+id+"/publication", "")
	require.Equal(t, http.StatusOK, r.status, r.body)
	return id
}

// left is the units that the coupon's page shows.
func (i *instance) left(t testing.TB, coupon string) int {
	t.Helper()
	left, err := i.asAdmin(t).left(coupon)
	require.NoError(t, err)
	return left
}

// report is the part of an audit that the tests look at.
type report struct {
	Clean      bool     `json:"clean"`
	Settled    bool     `json:"settled"`
	Total      int      `json:"total"`
	Stock      int      `json:"stock"`
	Live       int      `json:"live"`
	Orders     int      `json:"orders"`
	Holds      int      `json:"holds"`
	Returns    int      `json:"returns"`
	Oversold   int      `json:"oversold"`
	Duplicates int      `json:"duplicates"`
	Violations []string `json:"violations"`
	Invariants []struct {
		ID     string `json:"id"`
		Status string `json:"status"`
		Detail string `json:"detail"`
	} `json:"invariants"`
}

// status is the verdict on one invariant.
func (r report) status(id string) string {
	for _, i := range r.Invariants {
		if i.ID == id {
			return i.Status
		}
	}
	return "missing"
}

func (i *instance) audit(t testing.TB, coupon string) report {
	t.Helper()
	got, err := i.tryAudit(t, coupon)
	require.NoError(t, err)
	return got
}

func (i *instance) tryAudit(t testing.TB, coupon string) (got report, err error) {
	t.Helper()
	r := i.asAdmin(t).do(http.MethodGet, "/api/v1/admin/coupons/"+coupon+"/audit", "")
	if r.status != http.StatusOK {
		return got, fmt.Errorf("the audit is answered %d: %s", r.status, r.body)
	}
	return got, json.Unmarshal([]byte(r.body), &got)
}

// audited waits until the sale is at rest and holds it against every invariant. A store may be slower than its
// timeout for a moment, as on a busy machine: then it asks again.
func (i *instance) audited(t testing.TB, coupon string, limit time.Duration) report {
	t.Helper()
	var got report
	within(t, limit, func() error {
		var err error
		if got, err = i.tryAudit(t, coupon); err == nil && (!got.Clean || !got.Settled) {
			err = fmt.Errorf("the audit is %+v", got)
		}
		return err
	})
	return got
}

// auditedTwice audits over HTTP, and by the command that reads the stores itself.
func (s shop) auditedTwice(t testing.TB, i *instance, coupon string) report {
	t.Helper()
	got := i.audited(t, coupon, 30*time.Second)
	p := run(t, s.env, "audit", "--coupon", coupon)
	assert.Zero(t, p.code(), "exit code of audit")
	assert.Contains(t, p.out.String(), "audit: clean\n")
	return got
}

// rushEach sends one rush to each URL, all at once, each of buyers of its own.
func rushEach(t testing.TB, fleet []*instance, o rush.Options) []rush.Report {
	t.Helper()
	reports := make([]rush.Report, len(fleet))
	errs := make([]error, len(fleet))
	var all, ready sync.WaitGroup
	ready.Add(len(fleet))
	for n, i := range fleet {
		o := o
		o.URL, o.Keys, o.Token = i.url, true, rush.Signed(secret)
		o.InDoubt = 3 * time.Minute // on a busy machine the stores give no answer for a while
		o.FirstUser = max(o.FirstUser, 1) + int64(n*o.Users)
		prepared := sync.OnceFunc(ready.Done) // or it never will be
		o.Ready = func(context.Context) error {
			prepared()
			ready.Wait() // what a test does to an instance is done to a rush and not to its preparation
			return nil
		}
		all.Go(func() {
			defer prepared()
			reports[n], errs[n] = rush.Run(context.Background(), o)
		})
	}
	all.Wait()
	for n := range fleet {
		if errs[n] != nil { // not require: it may run beside the test
			t.Error(errs[n])
		}
		assert.Empty(t, reports[n].Violations, "what was told to the buyers of instance %d", n)
	}
	return reports
}

// mopUp lets late buyers come until nothing is left, and says that nothing is.
func mopUp(t testing.TB, i *instance, coupon string, firstUser int64) {
	t.Helper()
	for range 5 {
		left := i.left(t, coupon)
		if left == 0 {
			break
		}
		rushEach(t, []*instance{i}, rush.Options{Users: left + 20, Coupon: coupon, FirstUser: firstUser, Concurrency: 16})
		firstUser += int64(left + 20)
	}
	assert.Zero(t, i.left(t, coupon), "units that nobody could buy")
}

func total(reports []rush.Report) (sum rush.Report) {
	sum.Refused = map[string]int{}
	for _, r := range reports {
		sum.Asked += r.Asked
		sum.Accepted += r.Accepted
		sum.Failed += r.Failed
		sum.Paid += r.Paid
		sum.Cancelled += r.Cancelled
		for code, n := range r.Refused {
			sum.Refused[code] += n
		}
	}
	return sum
}

// noHoldIsLeft waits for the reconciler: the audit is clean as soon as the orders of holds
// whose confirmation was lost are there, and those holds are ended after it.
func (s shop) noHoldIsLeft(t testing.TB) {
	t.Helper()
	within(t, 30*time.Second, func() error {
		if n := s.holds(t); n > 0 {
			return fmt.Errorf("%d holds are left", n)
		}
		return nil
	})
}

// keys are the Redis keys that match, on every master.
func (s shop) keys(t testing.TB, pattern string) []string {
	t.Helper()
	found, err := s.redis.Keys(t.Context(), pattern).Result()
	require.NoError(t, err)
	return found
}

// holds are the open holds of all shards of all coupons.
func (s shop) holds(t testing.TB) int {
	t.Helper()
	n := 0
	for _, key := range s.keys(t, "seckill:*:holds") {
		if strings.Contains(key, "{") {
			fields, err := s.redis.HLen(t.Context(), key).Result()
			require.NoError(t, err)
			n += int(fields)
			if s.redis.HExists(t.Context(), key, "epoch").Val() {
				n-- // the mark that tells an empty shard from a lost one
			}
		}
	}
	return n
}
