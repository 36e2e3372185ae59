package coupon_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
	"example.com/seckill/internal/platform/embedded"
	"example.com/seckill/internal/platform/redisconn"
	"example.com/seckill/internal/stock"
	"example.com/seckill/internal/store"
	"example.com/seckill/internal/testing/apptest"
	"example.com/seckill/internal/testing/testservers"
)

func TestMain(m *testing.M) { testservers.Main(m) }

// opens and shuts are the window of every sale here, and during is inside. The store
// leaves out what ended long ago, by the real clock.
var (
	opens  = time.Now().UTC().Truncate(time.Hour)
	shuts  = opens.Add(time.Hour)
	during = opens.Add(time.Minute)
)

const shards = 4

// draft is the input of an administrator.
func draft(units int64) coupon.Coupon {
	return coupon.Coupon{Title: "Half price", Total: units, LimitPerUser: 2, PriceCents: 199, BeginsAt: opens, EndsAt: shuts}
}

// shop is the coupon service with the real store and the real stock. Its parts may
// be decorated, and then a second instance made of them.
type shop struct {
	*coupon.Service
	deps  coupon.Deps
	store *store.Store
	stock *stock.Stock
	redis redis.UniversalClient

	redisAddr string
}

// onBoth runs a test on MariaDB with Redis, and on the embedded stores.
func onBoth(t *testing.T, test func(t *testing.T, s *shop)) {
	t.Run("servers", func(t *testing.T) {
		r := testservers.NewRedis(t) // of its own: ids of coupons begin anew in each database
		test(t, open(t, apptest.MySQL(t), r.Addr()))
	})
	t.Run("embedded", func(t *testing.T) { onEmbedded(t, test) })
}

func onEmbedded(t *testing.T, test func(t *testing.T, s *shop)) {
	t.Setenv("TMPDIR", t.TempDir())
	e, err := embedded.Start(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	test(t, open(t, apptest.SQLite(t, e), e.RedisAddr()))
}

func open(t *testing.T, o store.Options, redisAddr string) *shop {
	t.Helper()
	o.MaxOpen, o.MaxIdle, o.TxTimeout = 16, 16, 10*time.Second
	o.Now = func() time.Time { return time.Unix(0, 0) } // epochs count from 1
	db, err := store.Open(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	client, err := redisconn.Open(t.Context(), redisconn.Options{Addrs: []string{redisAddr}, Timeout: 5 * time.Second})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })

	s := &shop{store: db, redis: client, redisAddr: redisAddr}
	s.useStock("")
	return s
}

// useStock gives the shop a service on a new Stock with this prefix.
func (s *shop) useStock(prefix string) {
	s.stock = stock.New(s.redis, stock.Options{RefusalTTL: time.Second, Prefix: prefix})
	s.deps = coupon.Deps{
		Repository: s.store.Coupons(), Loader: s.store.Coupons(), Shards: s.stock, Announcer: s.stock, Exclusive: oneAtATime(),
		Cache: coupon.NewCache(s.store.Coupons(), time.Second, slog.Default()), ShardCount: shards,
		Now: func() time.Time { return during },
	}
	s.Service = coupon.NewService(s.deps)
}

// oneAtATime replaces the lock in one process.
func oneAtATime() coupon.Exclusive {
	var mu sync.Mutex
	return func(ctx context.Context, _ int64, work func(context.Context) error) error {
		mu.Lock()
		defer mu.Unlock()
		return work(ctx)
	}
}

// notExclusive is a lock that excludes no caller.
func notExclusive(ctx context.Context, _ int64, work func(context.Context) error) error {
	return work(ctx)
}

// with is another instance over the same stores, with other parts.
func (s *shop) with(alter func(p *coupon.Deps)) *coupon.Service {
	p := s.deps
	alter(&p)
	return coupon.NewService(p)
}

func (s *shop) drafted(t *testing.T, units int64) coupon.Coupon {
	t.Helper()
	c, err := s.Create(t.Context(), draft(units))
	require.NoError(t, err)
	return c
}

func (s *shop) published(t *testing.T, units int64) coupon.Coupon {
	t.Helper()
	c, err := s.Publish(t.Context(), s.drafted(t, units).ID)
	require.NoError(t, err)
	return c
}

// now is the coupon as the database has it.
func (s *shop) now(t *testing.T, id int64) coupon.Coupon {
	t.Helper()
	c, err := s.Read(t.Context(), id)
	require.NoError(t, err)
	return c
}

// loaded returns the sum of the shards.
func (s *shop) loaded(t *testing.T, id int64) (units int64) {
	t.Helper()
	left, err := s.stock.Remaining(t.Context(), id, shards)
	require.NoError(t, err)
	for _, n := range left {
		units += n
	}
	return units
}

// buy is the order path without its lock: hold a unit, write the order, make the
// hold history.
func (s *shop) buy(ctx context.Context, c coupon.Coupon, id, user int64) error {
	request := fmt.Sprintf("r%d", id)
	got := s.stock.Reserve(ctx, []order.ReserveRequest{{
		CouponID: c.ID, UserID: user, RequestID: request, OrderID: id, Limit: c.LimitPerUser, Epoch: c.Epoch, Shards: c.Shards, Alone: true,
	}})[0]
	if got.Err != nil {
		return got.Err
	}
	h := got.Hold
	err := s.store.InTx(ctx, func(ctx context.Context, tx order.Tx) error {
		slot, err := tx.FreeSlot(ctx, c.ID, user, c.LimitPerUser)
		if err != nil {
			return err
		}
		if err := tx.Fence(ctx, user, 1); err != nil {
			return err
		}
		o := order.Order{
			ID: id, CouponID: c.ID, UserID: user, Slot: slot, Status: order.Pending, RequestID: request,
			Shard: h.Shard, Fence: 1, CreatedAt: during, ExpiresAt: shuts,
		}
		if err = tx.Insert(ctx, o); err != nil {
			return err
		}
		return tx.TakeOne(ctx, c)
	})
	if err != nil {
		_ = s.stock.Release(ctx, []order.Hold{h})
		return err
	}
	return s.stock.Confirm(ctx, []order.Hold{h})[0]
}

// balanced holds at rest: the units left in the database and the units sold make the
// total, and the shards hold the units left.
func (s *shop) balanced(t *testing.T, id int64) (sold int64) {
	t.Helper()
	err := s.store.ReadSnapshot(t.Context(), id, func(ctx context.Context, l store.Snapshot) error {
		counted, err := l.Orders(ctx, func(context.Context, []store.SnapshotOrder) error { return nil })
		sold = counted.Live
		require.Equal(t, l.Coupon().Total, l.Coupon().Left+sold, "D + A = T")
		return err
	})
	require.NoError(t, err)
	c, err := s.Read(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, c.Total, s.loaded(t, id)+sold, "R + A = T")
	return sold
}

// together starts all at one signal and gives their errors.
func together(all ...func() error) []error {
	gate := make(chan struct{})
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	for i, f := range all {
		wg.Go(func() {
			<-gate
			errs[i] = f()
		})
	}
	close(gate)
	wg.Wait()
	return errs
}
