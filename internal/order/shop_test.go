package order_test

import (
	"database/sql"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/audit"
	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/order"
	"example.com/seckill/internal/stock"
	"example.com/seckill/internal/store"
	"example.com/seckill/internal/testing/apptest"
	"example.com/seckill/internal/testing/testservers"
)

func TestMain(m *testing.M) { testservers.Main(m) }

const (
	shards         = apptest.Shards
	paymentTimeout = apptest.PaymentTimeout
	patient        = apptest.Patient
	// soon is how often a test looks again.
	soon = 10 * time.Millisecond
)

// shop is the order service on real stores. A test may decorate its parts and make another instance of them.
type shop struct {
	*order.Service
	*order.Reconciler
	deps           order.Deps
	reconcilerDeps order.ReconcilerDeps

	in      *apptest.Shop
	db      *store.Store
	raw     *sql.DB // nil with the embedded stores
	redis   redis.UniversalClient
	stock   *stock.Stock
	coupons *coupon.Service
	auditor *audit.Auditor
}

func in(s *apptest.Shop) *shop {
	return &shop{
		Service: s.Service, Reconciler: s.Reconciler, deps: s.Deps, reconcilerDeps: s.ReconcilerDeps, in: s,
		db: s.DB, raw: s.Raw, redis: s.Redis, stock: s.Stock, coupons: s.Coupons, auditor: s.Auditor,
	}
}

// onBoth runs a test on MariaDB with Redis, and on the embedded stores.
func onBoth(t *testing.T, test func(t *testing.T, s *shop)) {
	apptest.OnBoth(t, func(t *testing.T, s *apptest.Shop) { test(t, in(s)) })
}

// onEach runs a test on MariaDB with Redis, in every way to commit.
func onEach(t *testing.T, test func(t *testing.T, s *shop)) {
	for _, commit := range apptest.Commits {
		t.Run(string(commit), func(t *testing.T) { test(t, in(apptest.Open(t, commit))) })
	}
}

// onAll runs a test as onEach does, and on the embedded stores.
func onAll(t *testing.T, test func(t *testing.T, s *shop)) {
	onEach(t, test)
	t.Run("embedded", func(t *testing.T) { test(t, in(apptest.OpenEmbedded(t))) })
}

// openSingle is a shop on MariaDB and Redis in which each order has its own transaction.
func openSingle(t *testing.T) *shop {
	t.Helper()
	return in(apptest.Open(t, apptest.Single))
}

// open is a shop on MariaDB and Redis.
func open(t *testing.T) *shop {
	t.Helper()
	return in(apptest.Open(t))
}

func (s *shop) locker(t *testing.T, wait time.Duration) *lock.Locker {
	t.Helper()
	return s.in.Locker(t, wait)
}

// runOut ends a lease that was left behind, as time would.
func (s *shop) runOut(t *testing.T, user int64) {
	t.Helper()
	s.in.ExpireLock(t, user)
}

// leases lists the user's lock, if it is held.
func (s *shop) leases(t *testing.T, user int64) []string {
	t.Helper()
	return s.in.Leases(t, user)
}

// later moves the clock of the orders so far ahead.
func (s *shop) later(d time.Duration) { s.in.Later(d) }

// with is another instance over the same stores, with other parts.
func (s *shop) with(alter func(p *order.Deps)) *order.Service {
	p := s.deps
	alter(&p)
	return order.NewService(p)
}

// reconcilerWith is another instance's reconciler.
func (s *shop) reconcilerWith(alter func(p *order.ReconcilerDeps)) *order.Reconciler {
	p := s.reconcilerDeps
	alter(&p)
	return order.NewReconciler(p)
}

// ids counts.
type ids = apptest.IDs
