package store

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
	"example.com/seckill/internal/testing/testservers"
	"example.com/seckill/internal/tools/servers"
)

// onItsOwn is a store on a server that has no other client.
func onItsOwn(t *testing.T, settings ...servers.Setting) *subject {
	t.Helper()
	m := testservers.NewMariaDB(t, settings...)
	name, err := m.CreateDatabase(t.Context())
	require.NoError(t, err)
	return migrated(t, Options{MySQL: m.DSN(name)})
}

// come24 sends the purchase requests of 24 users, spread over some coupons. Their ids and orders
// begin at first.
func (h *hall) come24(t *testing.T, coupons int, first int64) {
	t.Helper()
	all := make([]coupon.Coupon, coupons)
	for i := range all {
		all[i] = onSale(t, h.subject, 100)
	}
	for i := range int64(24) {
		c := all[int(i)%coupons]
		h.come(t.Context(), c, wish(c, first+i, first+i))
	}
}

func TestGroup_ManyCoupons_SendsAsManyQueries(t *testing.T) {
	s := onItsOwn(t, servers.Set("log-output", "TABLE"))
	for coupons, first := range map[int]int64{1: 100, 12: 200} {
		raw(t, s, "TRUNCATE mysql.general_log")
		h := newHall(t, s)
		h.come24(t, coupons, first)
		h.committedInTwoTrips(t)
	}
}

func TestPlace_SecondUnit_TakesNoMoreRoundTrips(t *testing.T) {
	s := onItsOwn(t, servers.Set("log-output", "TABLE"))
	c := onSale(t, s, 100)
	for unit := range int64(c.LimitPerUser) {
		raw(t, s, "TRUNCATE mysql.general_log")
		h := newHall(t, s)
		for user := range int64(24) {
			h.come(t.Context(), c, wish(c, 100*unit+user+1, user))
		}
		h.committedInTwoTrips(t)
	}
	stock, live := left(t, s, c)
	require.Equal(t, []int64{52, 48}, []int64{stock, live})
}

// committedInTwoTrips serves the 24 who came, in one transaction and two trips to the server
// before its commit.
func (h *hall) committedInTwoTrips(t *testing.T) {
	t.Helper()
	said := trips(t, h.subject, func() {
		for id, err := range h.open() {
			require.NoError(t, err, id)
		}
	})
	require.Equal(t, []int{24}, h.groups())
	require.Equal(t, [][]string{
		{"SET", "START", "INSERT", "SELECT", "SELECT"}, {"INSERT", "UPDATE", "SELECT"}, {"COMMIT"},
	}, verbs(said), "%q", said)
}

// One order in a transaction of its own has one trip before its commit, and one more if its user
// may have several: the begin travels with the first statement.
func TestTransaction_Start_TravelsWithFirstStatement(t *testing.T) {
	s, _ := onItsOwn(t, servers.Set("log-output", "TABLE")).grouped(CommitOptions{})
	c := onSale(t, s, 20)
	said := trips(t, s, func() { require.NoError(t, place(t.Context(), s, c, wish(c, 1, 1))) })
	require.Equal(t, [][]string{
		{"SET", "START", "INSERT", "SELECT", "SELECT"}, {"INSERT", "UPDATE", "SELECT"}, {"COMMIT"},
	}, verbs(said), "%q", said)
	raw(t, s, "UPDATE coupons SET limit_per_user = 1")
	raw(t, s, "TRUNCATE mysql.general_log")
	c.LimitPerUser = 1
	said = trips(t, s, func() { require.NoError(t, place(t.Context(), s, c, wish(c, 2, 2))) })
	require.Equal(t, [][]string{{"SET", "START", "INSERT", "INSERT", "UPDATE", "SELECT"}, {"COMMIT"}}, verbs(said), "%q", said)
}

// A statement that the driver prepares cannot travel with the begin.
func TestTransaction_Start_IsPrepared(t *testing.T) {
	s := onItsOwn(t)
	for name, first := range map[string]func(*sql.Tx) error{
		"by the caller": func(tx *sql.Tx) error {
			prepared, err := tx.PrepareContext(t.Context(), "SELECT 1")
			if err == nil {
				defer func() { require.NoError(t, prepared.Close()) }()
			}
			return err
		},
		"by the driver, which skips what it cannot send as one text": func(tx *sql.Tx) error {
			_, err := tx.ExecContext(t.Context(), "DO ?", 1, 2)
			require.ErrorContains(t, err, "expected 1 arguments, got 2")
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			tx, err := s.pools[0].BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelReadCommitted})
			require.NoError(t, err)
			require.NoError(t, first(tx))
			var open int
			require.NoError(t, tx.QueryRowContext(t.Context(), "SELECT @@in_transaction").Scan(&open))
			require.Equal(t, 1, open)
			require.NoError(t, tx.Rollback())
			require.NoError(t, s.pools[0].QueryRowContext(t.Context(), "SELECT @@in_transaction").Scan(&open))
			require.Zero(t, open)
		})
	}
}

// verbs returns the first word of each statement.
func verbs(said [][]string) (verbs [][]string) {
	for _, trip := range said {
		var of []string
		for _, statement := range trip {
			of = append(of, verb(statement))
		}
		verbs = append(verbs, of)
	}
	return verbs
}

// With many orders of the coupon, of the user and of others a free slot must still be
// one look for each, in the user's partition only.
func TestFreeSlot_ManyOrders_IsOneLookup(t *testing.T) {
	for name, prepare := range map[string]func(*testing.T, *subject) *subject{
		"one table":  func(_ *testing.T, s *subject) *subject { return s },
		"partitions": split,
	} {
		t.Run(name, func(t *testing.T) {
			s := prepare(t, onItsOwn(t))
			const sold = `INSERT INTO orders SELECT 1000000 + seq, %s, 1, 'pending', 1, CONCAT('s', seq), 0, 1, NOW(3), NOW(3) FROM %s`
			raw(t, s, fmt.Sprintf(sold, "1, 1000 + seq", "seq_1_to_20000"))       // of one coupon
			raw(t, s, fmt.Sprintf(sold, "1000 + seq, 107", "seq_20001_to_23000")) // to one user
			raw(t, s, "ANALYZE TABLE orders")
			for coupons, first := range map[int]int64{1: 100, 12: 200} {
				h := newHall(t, s)
				h.come24(t, coupons, first)
				var before, looks int
				h.g.stepHook = func(_ context.Context, next step) error {
					if next == stepFence {
						before = reads(t, s)
					}
					if next == stepInsert {
						looks = reads(t, s) - before
					}
					return nil
				}
				for id, err := range h.open() {
					require.NoError(t, err, id)
				}
				require.GreaterOrEqual(t, looks, 24)
				require.Less(t, looks, 3*24, "%d coupons", coupons)
			}
		})
	}
}

// Every instance looks for overdue orders every second, so one that is not overdue must cost it
// nothing.
func TestOverdue_ManyPendingOrders_ReadsFewRows(t *testing.T) {
	s := onItsOwn(t)
	const pending = `INSERT INTO orders SELECT seq, 1, seq, 1, 'pending', 1, CONCAT('s', seq), 0, 1, NOW(3), '%s' FROM seq_%d_to_%d`
	now := begins.Add(123456789 * time.Nanosecond) // a clock tells more than a column keeps
	raw(t, s, fmt.Sprintf(pending, "2126-11-11 20:00:00.000", 1, 20_000))
	raw(t, s, "ANALYZE TABLE orders")
	raw(t, s, "INSERT INTO coupons (id, title, total, stock, limit_per_user, price_cents, begins_at, ends_at, state)"+
		" VALUES (1, '', 100, 0, 1, 1, NOW(3), NOW(3), 'on_sale')")
	expire := func() (n int) {
		require.NoError(t, s.InTx(t.Context(), func(ctx context.Context, tx order.Tx) error {
			expired, err := tx.Expire(ctx, now, 0, 10)
			n = len(expired)
			return err
		}))
		return n
	}
	before := reads(t, s)
	due, err := s.Overdue(t.Context(), now)
	require.NoError(t, err)
	require.False(t, due)
	require.Zero(t, expire())
	require.Less(t, reads(t, s)-before, 10)

	raw(t, s, fmt.Sprintf(pending, "2016-11-11 20:00:00.000", 30_001, 30_005))
	before = reads(t, s)
	due, err = s.Overdue(t.Context(), now)
	require.NoError(t, err)
	require.True(t, due)
	require.Equal(t, 5, expire())
	require.Less(t, reads(t, s)-before, 100)
}

// Until the server has statistics of a table that grows, MariaDB reads all orders of the coupon for a list of 256 users.
// A draw reads such lists while the orders of its winners arrive.
func TestEntrants_OneLargeSale_ReadsOnlyThePage(t *testing.T) {
	const page = 256
	s := onItsOwn(t)
	raw(t, s, `INSERT INTO orders SELECT 1000000 + seq, 1, seq, 1, 'pending', 1, CONCAT('s', seq), 0, 1, NOW(3), NOW(3) FROM seq_1_to_20000`)
	raw(t, s, `INSERT INTO lottery_entrants (coupon_id, user_id, id, request_id, created_at) `+
		`SELECT 1, seq, seq, CONCAT('s', seq), NOW(3) FROM seq_1_to_20000`)
	var users []int64
	for i := range int64(page) {
		users = append(users, 1+i*77)
	}
	before := reads(t, s)
	tickets, err := s.Entrants(t.Context(), 1, users)
	require.NoError(t, err)
	require.Len(t, tickets, page)
	require.Less(t, reads(t, s)-before, 10*page)
}

// reads is how often the server has looked into an index or gone on in one.
func reads(t *testing.T, s *subject) (n int) {
	t.Helper()
	row := s.pools[0].QueryRowContext(t.Context(), `SELECT SUM(variable_value) FROM information_schema.global_status
		WHERE variable_name IN ('Handler_read_key', 'Handler_read_next', 'Handler_read_prev', 'Handler_read_rnd', 'Handler_icp_attempts')`)
	require.NoError(t, row.Scan(&n))
	return n
}

func TestSQLite_Lookups_UseKeys(t *testing.T) {
	s := onSQLite(t)
	for query, args := range map[string]int{
		usedSlotsSQL(sqliteDialect, 24): 2 * 24,
		updateStockSQL[sqliteDialect](valuesTable(sqliteDialect, 12, 3), minusUnits, enoughLeft): 3 * 12,
	} {
		var steps []struct{ Detail string }
		require.NoError(t, s.write.Raw("EXPLAIN QUERY PLAN "+query, make([]any, args)...).Scan(&steps).Error)
		var plan []string
		for _, one := range steps {
			plan = append(plan, one.Detail)
		}
		require.Len(t, plan, 2, "%q", plan)
		require.Contains(t, plan[0], "VALUES")
		require.Contains(t, plan[1], "SEARCH")
	}
}
