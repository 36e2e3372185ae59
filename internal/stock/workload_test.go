package stock

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
	"example.com/seckill/internal/platform/redisconn"
	"example.com/seckill/internal/testing/testservers"
	"example.com/seckill/internal/tools/servers"
)

// workload buys from every shard of a coupon, through the queue and around it, one by one and many at
// once, while its servers are moved.
type workload struct {
	*shop
	queue    *Queue
	gates    []*shardCounts
	notSound atomic.Int64 // how often the shards were not loaded
	acked    atomic.Int64
	stop     context.CancelFunc
	leave    context.CancelFunc // of the buyers
	buyers   sync.WaitGroup
	all      sync.WaitGroup
}

// shardCounts counts the buyers of one shard.
type shardCounts struct {
	sold, queued, refused atomic.Int64
	last                  atomic.Pointer[error]
	slowest               atomic.Int64 // ns
}

const workloadUnits = 1_000_000

// workloadOn opens a coupon on a cluster, and begins to buy.
func workloadOn(t *testing.T, cluster *servers.Cluster, shards int) *workload {
	t.Helper()
	client := dial(t, redisconn.Options{Mode: redisconn.Cluster, Addrs: cluster.Addrs(), Timeout: time.Second})
	pipes, err := redisconn.Pipeline(client)
	require.NoError(t, err)
	c := &workload{shop: closed(t, client, workloadUnits, shards, func(o *Options) { o.Scripter = pipes })}
	require.NoError(t, c.Load(t.Context(), c.load))
	c.queue = c.Queue("c", time.Hour)
	ctx, stop := context.WithCancel(t.Context())
	c.stop = stop
	buying, leave := context.WithCancel(ctx)
	c.leave = leave
	for range shards {
		c.gates = append(c.gates, &shardCounts{})
	}
	for shard := range shards {
		c.buyers.Go(func() { c.buyAt(buying, shard) })
	}
	c.all.Go(func() { c.serve(ctx) })
	c.all.Go(func() { c.watch(ctx) })
	t.Cleanup(func() { stop(); c.buyers.Wait(); c.all.Wait() })
	return c
}

// buyAt sends buyers to a shard: of each four one after the other, one into the queue, and two that
// are served together.
func (c *workload) buyAt(ctx context.Context, shard int) {
	s := c.gates[shard]
	for user, n := int64(1), 0; ctx.Err() == nil; user++ {
		if coupon.Home(user, c.load.Shards) != shard {
			continue
		}
		n++
		began := time.Now()
		claim := c.claim(user, c.request())
		if n%4 == 1 {
			claim.QueueCapacity, claim.QueueMaxAge, claim.Enqueue = 1_000_000, time.Minute, &order.Order{
				ID: claim.OrderID, CouponID: claim.CouponID, UserID: user, Slot: 1, RequestID: claim.RequestID,
				Shard: shard, Status: order.Pending, CreatedAt: began, ExpiresAt: began,
			}
		}
		err := c.buyOne(ctx, s, claim, n%4 < 2)
		if ctx.Err() != nil {
			return
		}
		if took := time.Since(began).Nanoseconds(); took > s.slowest.Load() {
			s.slowest.Store(took)
		}
		if err != nil {
			s.refused.Add(1)
			s.last.Store(&err)
		}
		time.Sleep(pause())
	}
}

// pause returns how long a buyer waits before the next request. In this time the servers have a core to move slots.
func pause() time.Duration {
	if testservers.All() {
		return 2 * time.Millisecond
	}
	return 8 * time.Millisecond
}

func (c *workload) buyOne(ctx context.Context, s *shardCounts, claim order.ReserveRequest, alone bool) error {
	var h order.Hold
	var err error
	if !alone {
		got := c.Reserve(ctx, []order.ReserveRequest{claim})[0]
		h, err = got.Hold, got.Err
	}
	if alone || errors.Is(err, order.ErrFallback) {
		h, err = reserve(ctx, c, claim)
	}
	if err != nil || claim.Enqueue != nil {
		if err == nil {
			s.queued.Add(1)
		}
		return err
	}
	if err = confirm(ctx, c, h); err == nil {
		s.sold.Add(1)
	}
	return err
}

// serve takes the queued requests.
func (c *workload) serve(ctx context.Context) {
	q := coupon.Coupon{ID: c.load.CouponID, Epoch: c.load.Epoch, Shards: c.load.Shards}
	for ctx.Err() == nil {
		entries, _ := c.queue.Next(ctx, q, 100)
		for _, e := range entries {
			for confirm(ctx, c, e.Hold) != nil || c.queue.Ack(ctx, e) != nil {
				if ctx.Err() != nil {
					return
				}
			}
			c.acked.Add(1)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// watch looks whether the shards are as they were loaded, as the restorer does.
func (c *workload) watch(ctx context.Context) {
	for ctx.Err() == nil {
		loaded, err := c.Loaded(ctx, c.load.CouponID, c.load.Epoch, c.load.Shards)
		if err == nil && !loaded {
			c.notSound.Add(1)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// requireSelling waits until each shard has sold some more.
func (c *workload) requireSelling(shards ...int) {
	c.t.Helper()
	for _, shard := range shards {
		s := c.gates[shard]
		before := s.sold.Load()
		require.Eventually(c.t, func() bool { return s.sold.Load() > before+10 }, 20*time.Second, 10*time.Millisecond, "shard %d: %v", shard, s.error())
	}
}

func (s *shardCounts) error() error {
	if err := s.last.Load(); err != nil {
		return *err
	}
	return nil
}

// requireRefused checks how many buyers each shard has refused at most.
func (c *workload) requireRefused(most ...int64) {
	c.t.Helper()
	for shard, s := range c.gates {
		c.t.Logf("shard %d: %d sold, %d queued, %d refused, the slowest after %s",
			shard, s.sold.Load(), s.queued.Load(), s.refused.Load(), time.Duration(s.slowest.Load()))
		require.LessOrEqual(c.t, s.refused.Load(), most[shard], "shard %d: %v", shard, s.error())
	}
}

// requireAccounts ends the workload and checks that no unit is lost, none is sold twice, and that the
// queue was served.
func (c *workload) requireAccounts() {
	c.t.Helper()
	var queued, sold, refused int64
	c.leave()
	c.buyers.Wait()
	for _, s := range c.gates {
		queued += s.queued.Load()
	}
	require.Eventually(c.t, func() bool { return c.acked.Load() >= queued }, time.Minute, 10*time.Millisecond, "queued and not served")
	c.stop()
	c.all.Wait()
	for _, s := range c.gates {
		sold, refused = sold+s.sold.Load(), refused+s.refused.Load()
	}
	shards, err := c.ReadShards(c.t.Context(), c.load.CouponID, c.load.Shards)
	require.NoError(c.t, err)
	var units, holds, buyers int64
	for _, s := range shards {
		require.Equal(c.t, c.load.Epoch, s.Epoch)
		units, holds, buyers = units+s.Units, holds+s.Holds, buyers+s.Buyers
	}
	require.Equal(c.t, int64(workloadUnits), units+holds+buyers, "units: %d left, %d held, %d sold", units, holds, buyers)
	require.GreaterOrEqual(c.t, buyers, sold+c.acked.Load(), "what was confirmed is sold")
	require.Zero(c.t, c.notSound.Load(), "the data came along")
}

func bothMasters(t testing.TB, cluster *servers.Cluster, key string) (from, to *servers.Redis, slot int64) {
	t.Helper()
	from, slot, err := cluster.Owner(t.Context(), key)
	require.NoError(t, err)
	masters, err := cluster.Masters(t.Context())
	require.NoError(t, err)
	to = masters[0]
	if to.Addr() == from.Addr() {
		to = masters[1]
	}
	return from, to, slot
}

// openFor is how long an operator leaves a slot open.
func openFor() time.Duration {
	if testservers.All() {
		return 10 * time.Second
	}
	return 2 * time.Second
}
