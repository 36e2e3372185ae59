package store

import (
	"database/sql"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/order"
	"example.com/seckill/internal/testing/testservers"
	"example.com/seckill/internal/tools/servers"
)

// split partitions a store's tables of orders by their users.
func split(t *testing.T, s *subject) *subject {
	t.Helper()
	for _, table := range []string{"orders", "fences", "stock_returns"} {
		raw(t, s, "ALTER TABLE "+table+" PARTITION BY HASH (user_id) PARTITIONS 8")
	}
	return s
}

func TestPartitions_ByUser_Work(t *testing.T) {
	for _, way := range []string{"single", "group"} {
		t.Run(way, func(t *testing.T) {
			s := split(t, onMariaDB(t))
			if way == "group" {
				s, _ = s.grouped(CommitOptions{})
			}
			c := sold(t, s)
			require.ErrorIs(t, place(t.Context(), s, c, wish(c, 1, 1)), order.ErrDuplicate)
			again := wish(c, 200, 1)
			again.Slot, again.RequestID = 1, "r1"
			require.ErrorIs(t, place(t.Context(), s, c, again), order.ErrDuplicate, "the request id is taken in its user's partition")
			placed(t, s, c, 201, 1)
			require.ErrorIs(t, place(t.Context(), s, c, wish(c, 202, 1)), order.ErrLimitReached)
			require.ErrorIs(t, s.Void(t.Context(), wish(c, 201, 1)), order.ErrDuplicate)
			stale := wish(c, 203, 2)
			stale.Fence = 6
			require.ErrorIs(t, place(t.Context(), s, c, stale), order.ErrStaleFence)

			b, err := booksOf(t.Context(), s, c.ID, "r1", "r7")
			require.NoError(t, err)
			require.Equal(t, []int64{0, 0, 0, 0}, []int64{b.OverLimit, b.SameID, b.BadState, b.Stale})
			require.Len(t, b.Requests, 2)
			require.Len(t, b.Due, 2)
			stock, live := left(t, s, c)
			require.Equal(t, []int64{15, 5}, []int64{stock, live})
		})
	}
}

// Every statement about one user's orders must find them in one partition: on a
// distributed database each of the others is another machine that is asked.
func TestPartitions_StatementOfOneUser_TouchesOne(t *testing.T) {
	m := testservers.NewMariaDB(t, servers.Set("log-output", "TABLE"))
	name, err := m.CreateDatabase(t.Context())
	require.NoError(t, err)
	s := split(t, migrated(t, Options{MySQL: m.DSN(name)}))
	c := onSale(t, s, 20)
	said := trips(t, s, func() {
		o := placed(t, s, c, 1, 1)
		g, _ := s.grouped(CommitOptions{})
		placed(t, g, c, 2, 1)
		_, err := s.ByRequest(t.Context(), o.RequestID, 1)
		require.NoError(t, err)
		_, err = s.List(t.Context(), 1, 2, 10)
		require.NoError(t, err)
		_, err = pay(t.Context(), s, o, begins)
		require.NoError(t, err)
		_, err = cancelOrder(t.Context(), s, wish(c, 2, 1))
		require.NoError(t, err)
		_, err = expire(t.Context(), s, placed(t, s, c, 3, 1), wish(c, 3, 1).ExpiresAt)
		require.NoError(t, err)
		require.NoError(t, s.Delivered(t.Context(), order.Restock{OrderID: 2, UserID: 1}))
		require.NoError(t, s.Void(t.Context(), wish(c, 4, 1)))
	})
	asked := map[string]int{}
	for _, statement := range slices.Concat(said...) {
		switch verb(statement) {
		case "SET", "START", "COMMIT":
			continue
		}
		if strings.HasSuffix(statement, "SKIP LOCKED") {
			continue // it looks for what is overdue, of whatever user
		}
		for table, parts := range partitions(t, s, statement) {
			require.NotContains(t, parts, ",", "%s in %s", statement, table)
			asked[table]++
		}
	}
	require.GreaterOrEqual(t, asked["orders"], 10, "%q", said)
	require.GreaterOrEqual(t, asked["fences"], 2, "%q", said)
	require.GreaterOrEqual(t, asked["stock_returns"], 1, "%q", said)
}

// trips gives what the server of s alone was asked meanwhile, values and all: the
// statements of each round trip, but for what sets up a connection.
func trips(t *testing.T, s *subject, work func()) (all [][]string) {
	t.Helper()
	raw(t, s, "SET GLOBAL general_log = ON")
	work()
	raw(t, s, "SET GLOBAL general_log = OFF")
	rows, err := s.pools[0].QueryContext(t.Context(), "SELECT argument FROM mysql.general_log WHERE command_type = 'Query' ORDER BY event_time")
	require.NoError(t, err)
	defer func() { require.NoError(t, rows.Close()) }()
	for rows.Next() {
		var trip string
		require.NoError(t, rows.Scan(&trip))
		switch said := strings.Split(trip, "; "); verb(said[0]) {
		case "SELECT", "INSERT", "UPDATE", "DELETE", "COMMIT":
			all = append(all, said)
		case "SET":
			if len(said) > 1 { // a transaction begins
				all = append(all, said)
			}
		}
	}
	require.NoError(t, rows.Err())
	return all
}

func verb(statement string) string {
	word, _, _ := strings.Cut(statement, " ")
	return word
}

// partitions is what the server says of a statement: for each table that is split,
// the partitions that it would touch.
func partitions(t *testing.T, s *subject, statement string) map[string]string {
	t.Helper()
	rows, err := s.pools[0].QueryContext(t.Context(), "EXPLAIN PARTITIONS "+statement)
	require.NoError(t, err, statement)
	defer func() { require.NoError(t, rows.Close()) }()
	columns, err := rows.Columns()
	require.NoError(t, err)
	at := func(name string) int { return slices.Index(columns, name) }
	found := map[string]string{}
	for rows.Next() {
		values, into := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		require.NoError(t, rows.Scan(into...))
		if parts := values[at("partitions")]; parts.Valid {
			found[values[at("table")].String] = parts.String
		}
	}
	require.NoError(t, rows.Err())
	return found
}
