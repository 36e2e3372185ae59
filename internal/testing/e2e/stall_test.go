package e2e_test

import (
	"database/sql"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/faultnet"
	"example.com/seckill/internal/testing/testservers"
)

// budget is http.request_timeout, and what a test allows above it for a request's way
// through a busy machine.
const budget = 3*time.Second + 400*time.Millisecond

// statements runs them on one connection of their own, which stays open.
func statements(t *testing.T, dsn string) func(...string) error {
	t.Helper()
	db, err := sql.Open("mysql", dsn)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return func(all ...string) error {
		for _, one := range all {
			if _, err := conn.ExecContext(t.Context(), one); err != nil {
				return fmt.Errorf("%s: %w", one, err)
			}
		}
		return nil
	}
}

// stalled is how long the commits are.
const stalled = 5 * time.Second

// A database that stalls its commits, as for a backup, goes on answering everything
// else. Nobody waits for it longer than for anything, and what nobody knows is not
// given back.
func TestRequests_CommitsStall_AreAnsweredInTheirBudget(t *testing.T) {
	testservers.OneOf(t, 2)
	type way struct {
		name, batch string
		begin, end  []string
	}
	backup, back := []string{"BACKUP STAGE START", "BACKUP STAGE BLOCK_COMMIT"}, []string{"BACKUP STAGE END"}
	lock, unlock := []string{"FLUSH TABLES WITH READ LOCK"}, []string{"UNLOCK TABLES"}
	for _, stall := range testservers.Sample(t, 2, []way{
		{"backup", "256", backup, back},
		{"backup", "1", backup, back},
		{"read lock", "256", lock, unlock},
		{"read lock", "1", lock, unlock},
	}) {
		t.Run(stall.name+", batches of "+stall.batch, func(t *testing.T) {
			t.Parallel()
			dsn := ownDatabase(t)
			s := newShopOver(t, dsn, "SECKILL_ORDER__BATCH_SIZE="+stall.batch)
			i := s.instance(t)
			b := &tries{instance: i, coupon: i.sale(t, 1000, 1)}
			require.Equal(t, http.StatusCreated, b.buy(t).status)
			do := statements(t, dsn)

			require.NoError(t, do(stall.begin...))
			got := b.crowd(t, 8, stalled)
			held := s.holds(t)
			require.NoError(t, do(stall.end...))
			recovered, _ := b.until(t, http.StatusCreated, 10*time.Second)

			count, slowest := map[string]int{}, time.Duration(0)
			for _, one := range got {
				count[strings.TrimSpace(fmt.Sprint(one.status, " ", one.code))]++
				slowest = max(slowest, one.took)
			}
			t.Logf("%v, the slowest after %s, sold again after %s", count, slowest, recovered)
			assert.Less(t, slowest, budget)
			assert.GreaterOrEqual(t, held, count["202"], "a unit went back before it was known that it is not sold")
			assert.Zero(t, count["500 internal"])
			b.finish(t, s)
		})
	}
}

// crowd is n buyers at once, who come for so long, and what they are told.
func (b *tries) crowd(t *testing.T, n int, last time.Duration) (all []tried) {
	t.Helper()
	until := time.Now().Add(last)
	var mu sync.Mutex
	var buying sync.WaitGroup
	for k := range n {
		buying.Go(func() {
			for user := int64(1e6 * (k + 1)); time.Now().Before(until); user++ {
				one := (&tries{instance: b.instance, coupon: b.coupon, user: user}).buy(t)
				mu.Lock()
				all = append(all, one)
				mu.Unlock()
			}
		})
	}
	buying.Wait()
	return all
}

// blackHole swallows everything in both directions, without a word, and lets it through again.
func blackHole(p *faultnet.Proxy) fault {
	return fault{func() error { p.Inject(faultnet.BlackHole); return nil }, p.Mend}
}

func TestPurchase_NetworkSwallowsReplies_FailsWithinBudget(t *testing.T) {
	testservers.OneOf(t, 2)
	addr, dsn := testservers.NewRedis(t).Addr(), testservers.DSN(t)
	toRedis, toDatabase := testservers.Proxy(t, addr), testservers.Proxy(t, testservers.MariaDB(t).Addr())
	s := shop{redis: redis.NewClient(&redis.Options{Addr: addr})}
	t.Cleanup(func() { _ = s.redis.Close() })
	s = s.with("SECKILL_REDIS__ADDRS="+toRedis.Addr(), "SECKILL_ORDER__RECONCILE_AFTER=2s").
		migrated(t, strings.Replace(dsn, testservers.MariaDB(t).Addr(), toDatabase.Addr(), 1))
	i := s.instance(t)
	b := &tries{instance: i, coupon: i.sale(t, 1000, 1)}
	b.away(t, "nothing comes from Redis", blackHole(toRedis), 200*time.Millisecond, 5*time.Second)
	b.away(t, "nothing comes from the database", blackHole(toDatabase), 200*time.Millisecond, 10*time.Second)
	b.finish(t, s)
}
