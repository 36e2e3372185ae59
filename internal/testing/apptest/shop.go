// Package apptest builds a whole shop on real stores, for the tests of more than one
// package:
//
//	stores    MariaDB and Redis ─┬─▶ instance
//	          or the embedded    └─▶ instance ─▶ Injector ─▶ the stores
//
// Instances over the same stores share nothing else, as in production. An Injector stands
// between one of them and its stores and breaks single calls.
//
// The times are no promise. Leases and budgets are longer than any test takes, so that nothing
// ends by itself. A test ends a lease and moves the clock of the orders.
package apptest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql" // for a look at the rows behind the store's back
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/app/core"
	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/lock/redislock"
	"example.com/seckill/internal/order"
	"example.com/seckill/internal/platform/embedded"
	"example.com/seckill/internal/platform/redisconn"
	"example.com/seckill/internal/store"
	"example.com/seckill/internal/testing/failpoint"
	"example.com/seckill/internal/testing/testservers"
)

const (
	// Shards is the number of shards of every coupon.
	Shards = 4
	// PaymentTimeout is how long an order awaits its payment.
	PaymentTimeout = 15 * time.Minute
	// Patient is longer than anything in a test takes on a slow machine.
	Patient = 30 * time.Second
)

// Shop is one instance: the order service, the reconciler, the coupons and the auditor.
type Shop struct {
	*core.Core // a test may decorate ReconcilerDeps, and make another reconciler of them

	Service *order.Service
	Deps    order.Deps // of Service; a test may decorate them, and make another service of them

	DB    *store.Store
	Redis redis.UniversalClient
	Raw   *sql.DB // the database behind the store's back; nil with the embedded stores

	stores *stores
}

// Commit says how a shop commits its orders.
type Commit string

// The ways to commit. The default is Batch, as in the program.
const (
	Batch  Commit = "batch"  // every step once for many orders: order.batch_size 256
	Single Commit = "single" // a transaction each: order.batch_size 1
)

// Commits are all of them.
var Commits = []Commit{Batch, Single}

// committer returns the committer of the way, and the size of its batches.
func (c Commit) committer(db *store.Store) (order.Committer, int) {
	if c == Single {
		return db.Committer(store.CommitOptions{AtOnce: 8}), 1
	}
	return db.Committer(store.CommitOptions{}), 256
}

// stores are what instances have in common.
type stores struct {
	sql    store.Options
	redis  string
	commit Commit
	raw    *sql.DB
	ids    IDs
	loads  sync.Mutex   // does what the lock of loadings does
	later  atomic.Int64 // how far the clock of the orders is ahead, in nanoseconds
}

// OnBoth runs a test on MariaDB with Redis, and on the embedded stores.
func OnBoth(t *testing.T, test func(t *testing.T, s *Shop)) {
	t.Run("servers", func(t *testing.T) { test(t, Open(t)) })
	t.Run("embedded", func(t *testing.T) { test(t, OpenEmbedded(t)) })
}

// Open is a shop on a database and a Redis of its own: the ids of coupons begin anew
// in each database. The Commit is Batch if none is given.
func Open(t testing.TB, commit ...Commit) *Shop {
	t.Helper()
	return OpenOn(t, MySQL(t), commit...)
}

// OpenOn is Open on a database that has the schema, and that nothing else uses.
func OpenOn(t testing.TB, migrated store.Options, commit ...Commit) *Shop {
	t.Helper()
	raw, err := sql.Open("mysql", migrated.MySQL)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, raw.Close()) })
	st := &stores{sql: migrated, redis: testservers.NewRedis(t).Addr(), raw: raw, commit: Batch}
	if len(commit) > 0 {
		st.commit = commit[0]
	}
	return st.instance(t, nil)
}

// OpenEmbedded is a shop on the embedded stores.
func OpenEmbedded(t *testing.T) *Shop {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	e, err := embedded.Start(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return (&stores{sql: SQLite(t, e), redis: e.RedisAddr(), commit: Batch}).instance(t, nil)
}

// MySQL is a new database on the shared MariaDB, with the schema.
func MySQL(t testing.TB) store.Options {
	t.Helper()
	return store.Options{MySQL: testservers.MigratedDSN(t, func(ctx context.Context, dsn string) error {
		return Migrate(ctx, store.Options{MySQL: dsn})
	})}
}

// SQLite is the database of embedded stores, with the schema. Nothing may have opened it yet.
func SQLite(t testing.TB, e *embedded.Stores) store.Options {
	t.Helper()
	testservers.CopySQLite(t, e.SQLitePath(), func(ctx context.Context, dsn string) error {
		return Migrate(ctx, store.Options{SQLite: dsn})
	})
	return store.Options{SQLite: e.SQLiteDSN()}
}

// Migrate creates the schema in a database.
func Migrate(ctx context.Context, o store.Options) error {
	o.MaxOpen, o.MaxIdle, o.TxTimeout = 1, 1, Patient
	db, err := store.Open(ctx, o)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	_, err = db.Migrate(ctx)
	return errors.Join(err, db.Close())
}

// Answering waits until the instance calls its stores again: after a few silences it
// calls no store for a moment.
func (s *Shop) Answering(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		_, err := s.DB.Coupons().Find(t.Context(), 1)
		return err == nil && s.Redis.Ping(t.Context()).Err() == nil
	}, 10*time.Second, time.Millisecond, "a store is not asked again")
}

// Another is one more instance over the same stores, which it reaches through w if
// that is not nil. On the embedded stores no Injector is to be had.
func (s *Shop) Another(t *testing.T, w *failpoint.Injector) *Shop {
	t.Helper()
	return s.stores.instance(t, w)
}

func (st *stores) instance(t testing.TB, w *failpoint.Injector) *Shop {
	t.Helper()
	o := st.sql
	o.MaxOpen, o.MaxIdle, o.TxTimeout = 64, 64, Patient
	o.Now = func() time.Time { return time.Unix(0, 0) } // epochs count from 1
	if w != nil {
		o.MySQL = w.DSN(t, o.MySQL)
	}
	db, err := store.Open(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	client, err := redisconn.Open(t.Context(), redisconn.Options{Addrs: []string{st.redis}, Timeout: Patient})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	if w != nil {
		client.AddHook(w)
	}

	s := &Shop{stores: st, DB: db, Raw: st.raw, Redis: client}
	s.Core = core.New(core.Options{
		DB: db, Redis: client, Locker: s.Locker(t, Patient), Exclusive: st.exclusive, Now: s.Now,
		Shards: Shards, CacheRefresh: time.Second,
		RefusalTTL: time.Hour, // nothing that is refused without I/O is forgotten by itself
		Reconciler: func(d order.ReconcilerDeps) order.ReconcilerDeps {
			d.Locker = s.Locker(t, 0)
			return d
		},
	})
	committer, size := st.commit.committer(db)
	s.Deps = s.OrderDeps(order.Deps{IDs: &st.ids, PaymentTimeout: PaymentTimeout, Cleanup: Patient, Committer: committer, BatchSize: size})
	s.Service = order.NewService(s.Deps)
	return s
}

// exclusive lets one loading at a time through.
func (st *stores) exclusive(ctx context.Context, _ int64, work func(context.Context) error) error {
	st.loads.Lock()
	defer st.loads.Unlock()
	return work(ctx)
}

// Locker is a locker as each instance has one. Its leases last longer than any test,
// so that one that is left behind ends where the test says so.
func (s *Shop) Locker(t testing.TB, wait time.Duration) *lock.Locker {
	t.Helper()
	l, err := lock.New(redislock.New(s.Redis, redislock.Options{}), lock.Options{Lease: time.Hour, Wait: wait, Timeout: Patient})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close(context.Background())) })
	return l
}

// Leases lists the user's lock, if it is held.
func (s *Shop) Leases(t require.TestingT, user int64) []string {
	keys, err := s.Redis.Keys(context.Background(), fmt.Sprintf("seckill:{lock:*}:user:%d", user)).Result()
	require.NoError(t, err)
	return keys
}

// ExpireLock ends a lease of the user that was left behind, as time would.
func (s *Shop) ExpireLock(t require.TestingT, user int64) {
	for _, key := range s.Leases(t, user) {
		require.NoError(t, s.Redis.Del(context.Background(), key).Err())
	}
}

// Now is the clock of the orders, the same for all instances.
func (s *Shop) Now() time.Time { return time.Now().Add(time.Duration(s.stores.later.Load())) }

// Later moves that clock to so far ahead of the real one.
func (s *Shop) Later(d time.Duration) { s.stores.later.Store(int64(d)) }

// IDs counts from 1.
type IDs struct{ last atomic.Int64 }

// Next is the next number.
func (i *IDs) Next(context.Context) (int64, error) { return i.last.Add(1), nil }
