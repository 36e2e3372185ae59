package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
	"example.com/seckill/internal/platform/embedded"
	"example.com/seckill/internal/testing/testservers"
)

func TestMain(m *testing.M) { testservers.Main(m) }

// patient is longer than anything here takes on a slow machine.
const patient = 10 * time.Second

// subject is a store, and the committer on it that is tested.
type subject struct {
	*Store
	committer order.Committer
}

// alone returns the same store with a transaction for each order.
func (s *subject) alone() *subject { return &subject{s.Store, statementByStatement{s.Store}} }

// statementByStatement commits each order as the Committer does when its transaction has failed.
type statementByStatement struct{ *Store }

func (s statementByStatement) Place(ctx context.Context, all []*order.Attempt) {
	for _, a := range all {
		a.Err = s.placeAlone(ctx, a)
	}
}

func (s statementByStatement) Held(int64) bool { return false }

// grouped is the same store with a Committer.
func (s *subject) grouped(o CommitOptions) (*subject, *Committer) {
	g := s.Committer(o)
	return &subject{s.Store, g}, g
}

// databases are those that the store knows, freshly migrated.
var databases = map[string]func(t *testing.T) *subject{
	"MariaDB": func(t *testing.T) *subject { return onMariaDB(t) },
	"SQLite":  onSQLite,
}

// onEach runs a test on each database.
func onEach(t *testing.T, test func(t *testing.T, s *subject)) {
	for name, open := range databases {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

// onBoth runs a test on each database, with one transaction for each order and with one for many.
func onBoth(t *testing.T, test func(t *testing.T, s *subject)) {
	for name, open := range databases {
		t.Run(name, func(t *testing.T) {
			t.Run("single", func(t *testing.T) { test(t, open(t)) })
			t.Run("group", func(t *testing.T) {
				s, _ := open(t).grouped(CommitOptions{})
				test(t, s)
			})
		})
	}
}

// onMariaDB is a migrated store; params are added to its DSN.
func onMariaDB(t *testing.T, params ...string) *subject {
	t.Helper()
	return opened(t, Options{MySQL: strings.Join(append([]string{migratedDSN(t)}, params...), "&")})
}

// migratedDSN is a new database on the shared MariaDB, with the schema.
func migratedDSN(t *testing.T) string {
	t.Helper()
	return testservers.MigratedDSN(t, func(ctx context.Context, dsn string) error { return migrate(ctx, Options{MySQL: dsn}) })
}

// onSQLite is a migrated store.
func onSQLite(t *testing.T) *subject {
	t.Helper()
	e := stores(t)
	testservers.CopySQLite(t, e.SQLitePath(), func(ctx context.Context, dsn string) error { return migrate(ctx, Options{SQLite: dsn}) })
	return opened(t, Options{SQLite: e.SQLiteDSN()})
}

// migrate makes the schema.
func migrate(ctx context.Context, o Options) error {
	o.MaxOpen, o.MaxIdle, o.TxTimeout = 1, 1, patient
	s, err := Open(ctx, o)
	if err != nil {
		return err
	}
	_, err = s.Migrate(ctx)
	return errors.Join(err, s.Close())
}

// sqliteDSN is an empty database.
func sqliteDSN(t *testing.T) string {
	t.Helper()
	return stores(t).SQLiteDSN()
}

func stores(t *testing.T) *embedded.Stores {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	e, err := embedded.Start(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

// migrated is a store whose migrations are run.
func migrated(t *testing.T, o Options) *subject {
	t.Helper()
	s := opened(t, o)
	_, err := s.Migrate(t.Context())
	require.NoError(t, err)
	return s
}

func opened(t *testing.T, o Options) *subject {
	t.Helper()
	if o.MaxOpen == 0 {
		o.MaxOpen, o.MaxIdle = 32, 32
	}
	if o.TxTimeout == 0 {
		o.TxTimeout = patient
	}
	if o.Now == nil {
		o.Now = longAgo
	}
	s, err := Open(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return (&subject{Store: s}).alone()
}

// longAgo is a clock under which epochs count from 1.
func longAgo() time.Time { return time.Unix(0, 0) }

// begins is the first moment of every sale here, whole in milliseconds.
var begins = time.Date(2026, 11, 11, 20, 0, 0, 123e6, time.UTC)

// onSale makes a coupon of some units, in its first epoch.
func onSale(t *testing.T, s *subject, units int64) coupon.Coupon {
	t.Helper()
	c, err := s.Coupons().Create(t.Context(), coupon.Coupon{
		Title: "Half price", Total: units, Left: units, LimitPerUser: 2, PriceCents: 199,
		BeginsAt: begins, EndsAt: begins.Add(time.Hour), State: coupon.OnSale, Epoch: 1, Shards: 4,
	})
	require.NoError(t, err)
	return c
}

// wish is the order that a user wants; its id names its request too.
func wish(c coupon.Coupon, id, user int64) order.Order {
	return order.Order{
		ID: id, CouponID: c.ID, UserID: user, Slot: 1, Status: order.Pending, PriceCents: c.PriceCents,
		RequestID: fmt.Sprintf("r%d", id), Shard: 3, Fence: 7, CreatedAt: begins, ExpiresAt: begins.Add(15 * time.Minute),
	}
}

// place commits an order as package order does.
func place(ctx context.Context, s *subject, c coupon.Coupon, o order.Order) error {
	a := attempt(c, o)
	a.Context = ctx
	s.committer.Place(ctx, []*order.Attempt{a})
	return a.Err
}

func attempt(c coupon.Coupon, o order.Order) *order.Attempt {
	return &order.Attempt{Context: context.Background(), Sale: c, Order: o}
}

// placing writes an order as place does, in a transaction that goes on.
func placing(ctx context.Context, tx order.Tx, c coupon.Coupon, o order.Order) error {
	return statementsOf(ctx, tx, attempt(c, o))
}

// placeAnd places, and does something when all but the commit is done, which it may
// refuse.
func placeAnd(ctx context.Context, s *subject, c coupon.Coupon, o order.Order, then func(ctx context.Context) error) error {
	g, grouped := s.committer.(*Committer)
	if !grouped {
		return s.InTx(ctx, func(ctx context.Context, tx order.Tx) error {
			if err := placing(ctx, tx, c, o); err != nil {
				return err
			}
			return then(ctx)
		})
	}
	g.stepHook = func(ctx context.Context, next step) error {
		if next != stepCommit {
			return nil
		}
		return then(ctx)
	}
	defer func() { g.stepHook = nil }()
	return place(ctx, s, c, o)
}

// placed is place where it has to work.
func placed(t *testing.T, s *subject, c coupon.Coupon, id, user int64) order.Order {
	t.Helper()
	require.NoError(t, place(t.Context(), s, c, wish(c, id, user)))
	o, err := s.Get(t.Context(), id, user)
	require.NoError(t, err)
	return o
}

// left returns the coupon's stock and the number of its live orders, which together are
// the total, always.
func left(t *testing.T, s *subject, c coupon.Coupon) (stock, live int64) {
	t.Helper()
	b, err := booksOf(t.Context(), s, c.ID)
	require.NoError(t, err)
	require.Equal(t, b.Coupon.Total, b.Coupon.Left+b.Live, "an order without its unit, or a unit without its order")
	return b.Coupon.Left, b.Live
}

// books are all that the Snapshot of a coupon says.
type books struct {
	Totals
	Coupon   coupon.Coupon
	Rows     []SnapshotOrder
	Due      []order.Restock
	Requests map[string]order.Order
}

func booksOf(ctx context.Context, s *subject, id int64, requests ...string) (b books, err error) {
	err = s.ReadSnapshot(ctx, id, func(ctx context.Context, l Snapshot) error { return b.read(ctx, l, requests) })
	return b, err
}

func (b *books) read(ctx context.Context, l Snapshot, requests []string) (err error) {
	b.Coupon = l.Coupon()
	b.Totals, err = l.Orders(ctx, func(_ context.Context, page []SnapshotOrder) error {
		b.Rows = append(b.Rows, page...)
		return nil
	})
	if err != nil {
		return err
	}
	err = l.Outbox(ctx, func(_ context.Context, page []order.Restock) error {
		b.Due = append(b.Due, page...)
		return nil
	})
	if err != nil {
		return err
	}
	b.Requests, err = l.OrdersByRequest(ctx, requests)
	return err
}

// raw runs a statement behind the store's back.
func raw(t *testing.T, s *subject, statement string, args ...any) {
	t.Helper()
	_, err := s.pools[0].ExecContext(t.Context(), statement, args...)
	require.NoError(t, err, statement)
}

// session is a second connection with an open transaction, as of another instance.
func session(t *testing.T, s *subject, statements ...string) *sql.Tx {
	t.Helper()
	tx, err := s.pools[0].BeginTx(t.Context(), nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback() })
	if s.dialect == mysqlDialect { // it may be silent for as long as the test is
		_, err := tx.ExecContext(t.Context(), "SET SESSION "+mariaDBIdleVariable+" = 0")
		require.NoError(t, err)
	}
	for _, one := range statements {
		_, err := tx.ExecContext(t.Context(), one)
		require.NoError(t, err, one)
	}
	return tx
}

// untilItWaits starts something and returns when it waits for a transaction that is
// open: for its row lock, or on SQLite for its turn.
func untilItWaits(t *testing.T, s *subject, start func()) {
	t.Helper()
	before := s.pools[0].Stats().WaitCount
	go start()
	require.Eventually(t, func() bool {
		if s.dialect == sqliteDialect {
			return s.pools[0].Stats().WaitCount > before
		}
		var n int
		row := s.pools[0].QueryRowContext(t.Context(), "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'")
		return row.Scan(&n) == nil && n > 0
	}, patient, 150*time.Millisecond, "nobody waits") // the server refreshes that table only if nobody read it for 100 ms
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
