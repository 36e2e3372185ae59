package store

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/order"
	"example.com/seckill/internal/testing/testservers"
)

const pollEvery = 10 * time.Millisecond

func TestOpen_UnusableDatabase_HidesPassword(t *testing.T) {
	dsn := testservers.DSN(t)
	m := testservers.MariaDB(t)
	for name, tc := range map[string]struct {
		dsn, says string
	}{
		"a wrong password":          {strings.Replace(dsn, "root@", "root:hush@", 1), "Access denied"},
		"a user that is not there":  {strings.Replace(dsn, "root@", "nobody:hush@", 1), "Access denied"},
		"a database not there":      {m.DSN("nowhere"), "Unknown database 'nowhere'"},
		"nobody at the address":     {"root:hush@tcp(127.0.0.1:1)/seckill?timeout=1s", "connection refused"},
		"a host that has no name":   {"root:hush@tcp(no.such.host.invalid:3306)/seckill?timeout=1s", "no.such.host.invalid"},
		"a DSN that is no DSN":      {"root:hush@tcp(127.0.0.1:1", "mysql.dsn"},
		"a DSN with a wrong option": {"root:hush@tcp(127.0.0.1:1)/seckill?timeout=soon", "mysql.dsn"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Open(t.Context(), Options{MySQL: tc.dsn, MaxOpen: 2, TxTimeout: time.Second})
			require.ErrorContains(t, err, tc.says)
			require.NotContains(t, err.Error(), "hush")
			require.NotContains(t, err.Error(), "\n", "one line")
		})
	}
}

func TestStore_ServerDies_IsUnavailableUntilItReturns(t *testing.T) {
	m := testservers.NewMariaDB(t)
	name, err := m.CreateDatabase(t.Context())
	require.NoError(t, err)
	s := migrated(t, Options{MySQL: m.DSN(name)})
	c := onSale(t, s, 10)
	placed(t, s, c, 1, 1)

	require.NoError(t, m.Kill())
	_, getErr := s.Get(t.Context(), 1, 1)
	_, listErr := s.List(t.Context(), 1, 0, 5)
	_, findErr := s.Coupons().Find(t.Context(), c.ID)
	_, changeErr := s.Coupons().NextEpoch(t.Context(), c.ID, c.Epoch, 4, false)
	_, booksErr := booksOf(t.Context(), s, c.ID)
	_, dueErr := s.DueRestocks(t.Context(), 0, 5)
	for what, err := range map[string]error{
		"place": place(t.Context(), s, c, wish(c, 2, 2)), "void": s.Void(t.Context(), wish(c, 3, 3)),
		"get": getErr, "list": listErr, "find": findErr, "change": changeErr, "books": booksErr, "due": dueErr,
	} {
		require.ErrorIs(t, err, order.ErrUnavailable, what)
	}
	require.Error(t, s.Ping(t.Context()))

	require.NoError(t, m.Restart(t.Context()))
	require.NoError(t, s.Ping(t.Context()))
	answering(t, s)
	placed(t, s, c, 4, 4)
	stock, live := left(t, s, c)
	require.Equal(t, []int64{8, 2}, []int64{stock, live}, "what was committed before is there")
}

func TestStore_SessionKilled_IsUnavailable(t *testing.T) {
	s := onMariaDB(t)
	c := onSale(t, s, 10)
	err := s.InTx(t.Context(), killing(t, s, c))
	require.ErrorIs(t, err, order.ErrUnavailable)
	require.Zero(t, s.Pool().Stats().InUse)
	stock, live := left(t, s, c)
	require.Equal(t, []int64{10, 0}, []int64{stock, live})
}
