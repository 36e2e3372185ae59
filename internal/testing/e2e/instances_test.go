package e2e_test

import (
	"cmp"
	"net/http"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"example.com/seckill/internal/testing/testservers"
	"example.com/seckill/internal/tools/rush"
)

func TestInstances_ThreeWithManyBuyers_SellExactlyTheStock(t *testing.T) {
	t.Parallel()
	for _, c := range testservers.Sample(t, 2, []struct {
		name                           string
		users, stock, limit, doubleTap int
		batch                          int
		mode                           string
	}{
		{name: "one unit per user", users: 4_000, stock: 1_000, limit: 1, doubleTap: 20, batch: 256},
		{name: "two units per user", users: 800, stock: 300, limit: 2, doubleTap: 4, batch: 256},
		{name: "each order by itself", users: 400, stock: 200, limit: 2, doubleTap: 4, batch: 1},
		{name: "through the queues", users: 1_500, stock: 500, limit: 1, doubleTap: 10, batch: 256, mode: "queue"},
	}) {
		t.Run(c.name, func(t *testing.T) {
			s := newShop(t, "SECKILL_ORDER__BATCH_SIZE="+strconv.Itoa(c.batch), "SECKILL_ORDER__MODE="+cmp.Or(c.mode, "sync"))
			fleet := s.fleet(t)
			id := fleet[0].sale(t, c.stock, c.limit)
			sum := total(rushEach(t, fleet, rush.Options{
				Users: c.users, Coupon: id, PayPercent: 10, CancelPercent: 10, DoubleTapEvery: c.doubleTap,
				AdminToken: token(t, 1, "admin"), Concurrency: 32,
			}))
			assert.Zero(t, sum.Failed, "%v", sum.Failures)
			assert.GreaterOrEqual(t, sum.Accepted, c.stock)
			assert.Positive(t, sum.Refused["sold_out"])
			assert.Positive(t, sum.Paid)
			assert.Positive(t, sum.Cancelled)
			mopUp(t, fleet[1], id, 1_000_000)
			got := s.auditedTwice(t, fleet[2], id)
			assert.Equal(t, c.stock, got.Live, "live orders")
			assert.Zero(t, got.Stock)
			assert.Zero(t, got.Oversold+got.Duplicates)
		})
	}
}

func TestInstances_OneUserManyRequests_KeepLimit(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	fleet := s.fleet(t)
	for limit, user := range map[int]int64{1: 7, 2: 8} {
		id := fleet[0].sale(t, 100, limit)
		codes := tapAtOnce(t, fleet, user, id, 20)
		assert.LessOrEqual(t, codes[""], limit, "orders among %v", codes)
		assert.Positive(t, codes[""], "orders among %v", codes)
		assert.Equal(t, 20, codes[""]+codes["limit_reached"]+codes["request_in_progress"], "%v", codes)
		if limit == 1 {
			assert.Equal(t, 1, codes[""])
		}
		got := s.auditedTwice(t, fleet[1], id)
		assert.Equal(t, codes[""], got.Live)
	}
}

// Whatever the lock lets through, the shard, the unique slot and the database stop.
func TestUserLimit_LockExcludesNone_IsEnforced(t *testing.T) {
	testservers.OneOf(t, 2)
	t.Parallel()
	for name, limit := range map[string]int{"limit 1": 1, "limit 2": 2} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t, "SECKILL_LOCK__BACKEND=none", "SECKILL_ALLOW_UNSAFE_LOCK=1")
			fleet := s.fleet(t)
			const users, taps, stock = 150, 9, 120
			id := fleet[0].sale(t, stock, limit)
			var mu sync.Mutex
			codes := map[string]int{}
			var crowded sync.WaitGroup
			next := make(chan int64)
			for range 12 {
				crowded.Go(func() {
					for user := range next {
						got := tapAtOnce(t, fleet, user, id, taps)
						mu.Lock()
						for code, n := range got {
							codes[code] += n
						}
						if got[""] > limit {
							t.Errorf("user %d has %d orders, limit %d", user, got[""], limit)
						}
						mu.Unlock()
					}
				})
			}
			for user := int64(1); user <= users; user++ {
				next <- user
			}
			close(next)
			crowded.Wait()
			assert.LessOrEqual(t, codes[""], stock)
			mopUp(t, fleet[1], id, 1_000_000)
			got := s.auditedTwice(t, fleet[2], id)
			assert.Equal(t, stock, got.Live)
		})
	}
}

// tapAtOnce lets a user tap so many times at the same moment, spread over the
// fleet, and counts the answers by their code; an order has none.
func tapAtOnce(t testing.TB, fleet []*instance, user int64, coupon string, taps int) map[string]int {
	var mu sync.Mutex
	codes := map[string]int{}
	gate := make(chan struct{})
	var all sync.WaitGroup
	for n := range taps {
		c := fleet[n%len(fleet)].as(t, user)
		all.Go(func() {
			<-gate
			r, err := c.try(http.MethodPost, "/api/v1/coupons/"+coupon+"/orders", "")
			code := r.code()
			if err != nil {
				code = err.Error()
			} else if (code == "") != (r.status == http.StatusCreated) {
				code = http.StatusText(r.status)
			}
			c.http.CloseIdleConnections()
			mu.Lock()
			codes[code]++
			mu.Unlock()
		})
	}
	close(gate)
	all.Wait()
	return codes
}
