package audit_test

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql" // for what happens behind the store's back
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
	shards  = 4
	patient = 30 * time.Second
)

// shop is a whole shop on real stores.
type shop struct {
	*audit.Auditor
	orders  *order.Service
	parts   order.Parts
	settler *order.Settler
	coupons *coupon.Service
	db      *store.Store
	raw     *sql.DB // nil with the embedded stores
	redis   redis.UniversalClient
	stock   *stock.Stock
	returns deaf
}

// deaf returns nothing to the shards while it is deaf, so that a unit is owed.
type deaf struct {
	order.Returns
	on *atomic.Bool
}

func (d deaf) Return(ctx context.Context, r order.Return) error {
	if d.on.Load() {
		return order.ErrUnavailable
	}
	return d.Returns.Return(ctx, r)
}

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
	locker, err := lock.New(redislock.New(client, redislock.Options{}), lock.Options{Lease: time.Hour, Wait: patient, Timeout: patient})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, locker.Close(context.Background())) })

	s := &shop{db: db, redis: client, stock: stock.New(client, time.Second)}
	s.returns = deaf{s.stock, new(atomic.Bool)}
	cache := coupon.NewCache(db.Coupons(), time.Second, slog.Default())
	s.coupons = coupon.NewService(coupon.Parts{
		Repository: db.Coupons(), Loader: db.Coupons(), Shards: s.stock, Announcer: s.stock, Cache: cache, ShardCount: shards,
		Exclusive: func(ctx context.Context, id int64, work func(context.Context) error) error {
			return locker.Do(ctx, fmt.Sprintf("coupon:%d", id), func(ctx context.Context, _ *lock.Lease) error { return work(ctx) })
		},
	})
	s.parts = order.Parts{
		Sales: cache, Stock: s.stock, Tickets: s.stock, Returns: s.returns, Locker: locker,
		Tx: db, Orders: db, IDs: &ids{}, PayWithin: time.Hour, Cleanup: patient,
	}
	s.orders = order.NewService(s.parts)
	s.settler = order.NewSettler(order.SettlerParts{
		Holds: s.stock, Stock: s.stock, Returns: s.stock, Locker: locker, Tx: db, Orders: db, Outbox: db, Sales: cache,
	})
	s.Auditor = audit.New(db, s.stock, s.settler, s.coupons, 0)
	return s
}

type ids struct{ last atomic.Int64 }

func (i *ids) Next(context.Context) (int64, error) { return i.last.Add(1), nil }

// sell puts units on sale, two for each user.
func (s *shop) sell(t *testing.T, units int64) coupon.Coupon {
	t.Helper()
	c, err := s.coupons.Publish(t.Context(), s.draft(t, units).ID)
	require.NoError(t, err)
	return c
}

func (s *shop) draft(t *testing.T, units int64) coupon.Coupon {
	t.Helper()
	c, err := s.coupons.Create(t.Context(), coupon.Coupon{
		Title: "Half price", Total: units, LimitPerUser: 2,
		BeginsAt: time.Now().Add(-time.Hour), EndsAt: time.Now().Add(time.Hour),
	})
	require.NoError(t, err)
	return c
}

func (s *shop) buy(t *testing.T, c coupon.Coupon, user int64) order.Order {
	t.Helper()
	o, err := s.orders.Place(t.Context(), order.Request{CouponID: c.ID, UserID: user})
	require.NoError(t, err)
	return o
}

// hold takes a unit for a request that goes no further.
func (s *shop) hold(t *testing.T, c coupon.Coupon, user int64) {
	t.Helper()
	_, err := s.stock.Reserve(t.Context(), order.Claim{
		CouponID: c.ID, UserID: user, RequestID: fmt.Sprintf("dead%d", user), OrderID: 1e9 + user,
		Limit: 2, Epoch: c.Epoch, Shards: c.Shards,
	})
	require.NoError(t, err)
}

// unconfirmed buys for a user whose hold is not made history, as when the instance
// dies after the commit.
func (s *shop) unconfirmed(t *testing.T, c coupon.Coupon, user int64) {
	t.Helper()
	p := s.parts
	p.Stock = unconfirming{p.Stock}
	_, err := order.NewService(p).Place(t.Context(), order.Request{CouponID: c.ID, UserID: user})
	require.NoError(t, err)
}

type unconfirming struct{ order.Stock }

func (unconfirming) Confirm(context.Context, order.Hold) error { return order.ErrUnavailable }

// owe cancels an order whose unit the shards are not given.
func (s *shop) owe(t *testing.T, o order.Order) {
	t.Helper()
	s.returns.on.Store(true)
	defer s.returns.on.Store(false)
	_, err := s.orders.Cancel(t.Context(), o.ID, o.UserID)
	require.NoError(t, err)
}

func (s *shop) exec(t *testing.T, statement string, args ...any) {
	t.Helper()
	_, err := s.raw.ExecContext(t.Context(), statement, args...)
	require.NoError(t, err)
}

// key is a key of Redis as the contract names it.
func key(c coupon.Coupon, shard int, name string) string {
	return fmt.Sprintf("seckill:{%d:%d}:%s", c.ID, shard, name)
}

func (s *shop) audited(t *testing.T, c coupon.Coupon) audit.Report {
	t.Helper()
	r, err := s.Audit(t.Context(), c.ID)
	require.NoError(t, err)
	return r
}

// with lists the invariants that have a status.
func with(r audit.Report, status audit.Status) []string {
	ids := []string{}
	for _, i := range r.Invariants {
		if i.Status == status {
			ids = append(ids, i.ID)
		}
	}
	return ids
}
