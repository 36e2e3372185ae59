package order_test

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql" // for a look at the rows behind the store's back
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"seckill/internal/audit"
	"seckill/internal/coupon"
	"seckill/internal/embedded"
	"seckill/internal/lock"
	"seckill/internal/lock/redislock"
	"seckill/internal/order"
	"seckill/internal/redisconn"
	"seckill/internal/servers/testservers"
	"seckill/internal/stock"
	"seckill/internal/store"
)

func TestMain(m *testing.M) { testservers.Main(m) }

const (
	shards    = 4
	payWithin = 15 * time.Minute
	// patient is longer than anything here takes on a slow machine.
	patient = 30 * time.Second
	// soon is how often a test looks again.
	soon = 10 * time.Millisecond
)

// shop is the order service on real stores. What it is made of may be decorated,
// and then another instance made of that.
type shop struct {
	*order.Service
	*order.Settler
	parts   order.Parts
	settles order.SettlerParts

	db      *store.Store
	raw     *sql.DB // nil with the embedded stores
	redis   redis.UniversalClient
	stock   *stock.Stock
	coupons *coupon.Service
	auditor *audit.Auditor
	later   atomic.Int64 // how far the clock of the orders is ahead, in nanoseconds
}

// onBoth runs a test on MariaDB with Redis, and on the embedded stores.
func onBoth(t *testing.T, test func(t *testing.T, s *shop)) {
	t.Run("servers", func(t *testing.T) { test(t, open(t)) })
	t.Run("embedded", func(t *testing.T) {
		t.Setenv("TMPDIR", t.TempDir())
		e, err := embedded.Start(t.Context())
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, e.Close()) })
		test(t, build(t, store.Options{SQLite: e.SQLiteDSN()}, e.RedisAddr()))
	})
}

// open is a shop on MariaDB and Redis.
func open(t *testing.T) *shop {
	t.Helper()
	dsn := testservers.DSN(t)
	// The Redis is its own: the ids of coupons begin anew in each database.
	s := build(t, store.Options{MySQL: dsn}, testservers.NewRedis(t).Addr())
	raw, err := sql.Open("mysql", dsn)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, raw.Close()) })
	s.raw = raw
	return s
}

func build(t *testing.T, o store.Options, redisAddr string) *shop {
	t.Helper()
	o.MaxOpen, o.MaxIdle, o.TxTimeout = 64, 64, patient
	db, err := store.Open(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	_, err = db.Migrate(t.Context())
	require.NoError(t, err)
	client, err := redisconn.Open(t.Context(), redisconn.Options{Addrs: []string{redisAddr}, Timeout: patient})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })

	s := &shop{db: db, redis: client, stock: stock.New(client, time.Hour)} // no flag falls by itself
	cache := coupon.NewCache(db.Coupons(), time.Second, slog.Default())
	s.coupons = coupon.NewService(coupon.Parts{
		Repository: db.Coupons(), Loader: db.Coupons(), Shards: s.stock, Announcer: s.stock, Exclusive: oneAtATime(),
		Cache: cache, ShardCount: shards,
	})
	s.parts = order.Parts{
		Sales: cache, Stock: s.stock, Tickets: s.stock, Returns: s.stock, Locker: s.locker(t, patient),
		Tx: db, Orders: db, IDs: &ids{}, PayWithin: payWithin, Cleanup: patient, Now: s.now,
	}
	s.settles = order.SettlerParts{
		Holds: s.stock, Stock: s.stock, Returns: s.stock, Locker: s.locker(t, 0),
		Tx: db, Orders: db, Outbox: db, Sales: cache, Now: s.now,
	}
	s.Service, s.Settler = order.NewService(s.parts), order.NewSettler(s.settles)
	s.auditor = audit.New(db, s.stock, s.Settler, s.coupons, 0)
	return s
}

// locker is a locker as each instance has one. Its leases last longer than any test,
// so that one that is left behind ends where the test says so.
func (s *shop) locker(t *testing.T, wait time.Duration) *lock.Locker {
	t.Helper()
	l, err := lock.New(redislock.New(s.redis, redislock.Options{}), lock.Options{Lease: time.Hour, Wait: wait, Timeout: patient})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close(context.Background())) })
	return l
}

// runOut ends a lease that was left behind, as time would.
func (s *shop) runOut(t *testing.T, user int64) {
	t.Helper()
	for _, key := range s.leases(t, user) {
		require.NoError(t, s.redis.Del(t.Context(), key).Err())
	}
}

// leases lists the user's lock, if it is held.
func (s *shop) leases(t *testing.T, user int64) []string {
	t.Helper()
	keys, err := s.redis.Keys(t.Context(), fmt.Sprintf("seckill:{lock:*}:user:%d", user)).Result()
	require.NoError(t, err)
	return keys
}

func (s *shop) now() time.Time { return time.Now().Add(time.Duration(s.later.Load())) }

// with is another instance over the same stores, with other parts.
func (s *shop) with(alter func(p *order.Parts)) *order.Service {
	p := s.parts
	alter(&p)
	return order.NewService(p)
}

// settlerWith is another instance's settler.
func (s *shop) settlerWith(alter func(p *order.SettlerParts)) *order.Settler {
	p := s.settles
	alter(&p)
	return order.NewSettler(p)
}

// oneAtATime is what the lock of loadings does, in one process.
func oneAtATime() coupon.Exclusive {
	var mu sync.Mutex
	return func(ctx context.Context, _ int64, work func(context.Context) error) error {
		mu.Lock()
		defer mu.Unlock()
		return work(ctx)
	}
}

// ids counts.
type ids struct{ last atomic.Int64 }

func (i *ids) Next(context.Context) (int64, error) { return i.last.Add(1), nil }
