package order_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/store"
	"example.com/seckill/internal/testing/apptest"
	"example.com/seckill/internal/testing/testservers"
	"example.com/seckill/internal/tools/servers"
)

// The server hears the statements that ship in this order, in every way to commit: the fence first, and the row
// that all orders want last, just before the commit.
func TestPlace_EveryWayToCommit_SendsTheHotRowLast(t *testing.T) {
	m := testservers.NewMariaDB(t, servers.Set("log-output", "TABLE"))
	for _, commit := range apptest.Commits {
		for limit, want := range map[int][]string{
			1: {"SET", "START", "INSERT fences", "INSERT orders", "UPDATE coupons", "SELECT", "COMMIT"},
			3: {
				"SET", "START", "INSERT fences", "SELECT fences", "SELECT orders", "INSERT orders", "UPDATE coupons", "SELECT", "COMMIT",
			},
		} {
			t.Run(string(commit)+", limit "+string(rune('0'+limit)), func(t *testing.T) {
				name, err := m.CreateDatabase(t.Context())
				require.NoError(t, err)
				at := store.Options{MySQL: m.DSN(name)}
				require.NoError(t, apptest.Migrate(t.Context(), at))
				s := in(apptest.OpenOn(t, at, commit))
				c := s.sell(t, 10, limit)
				s.exec(t, "TRUNCATE mysql.general_log")
				s.exec(t, "SET GLOBAL general_log = ON")
				s.buy(t, c, 7, "")
				s.exec(t, "SET GLOBAL general_log = OFF")
				require.Equal(t, want, s.transaction(t))
			})
		}
	}
}

// transaction returns the verb and the table of each statement that the connection that wrote an order sent.
func (s *shop) transaction(t *testing.T) (statements []string) {
	t.Helper()
	rows, err := s.raw.QueryContext(t.Context(), `SELECT argument FROM mysql.general_log WHERE command_type = 'Query' AND thread_id IN
		(SELECT thread_id FROM mysql.general_log WHERE argument LIKE '%INSERT INTO orders%') ORDER BY event_time`)
	require.NoError(t, err)
	defer func() { require.NoError(t, rows.Close()) }()
	for rows.Next() {
		var trip string
		require.NoError(t, rows.Scan(&trip))
		for statement := range strings.SplitSeq(trip, "; ") {
			verb, rest, _ := strings.Cut(statement, " ")
			of := func(table string) bool { return strings.Contains(rest, table) }
			tables := []string{"fences", "orders", "coupons"}
			if at := slices.IndexFunc(tables, of); at >= 0 {
				verb = verb + " " + tables[at]
			}
			statements = append(statements, verb)
		}
	}
	require.NoError(t, rows.Err())
	begin := slices.Index(statements, "SET") // after what the connection was used for before
	require.GreaterOrEqual(t, begin, 0, "no transaction began")
	return statements[begin:]
}
