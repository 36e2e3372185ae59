package mysqllock

import (
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/store"
	"example.com/seckill/internal/testing/locktest/history"
)

func TestWhatManyClientsSawOfALeaseRowCouldHaveBeenAPerfectLock(t *testing.T) {
	h := leaseRowHarness(t, migrated(t))
	history.Check(t, history.Options{Server: h.Server, Dial: h.Dial})
}

func TestWhatManyClientsSawOfNamesCouldHaveBeenAPerfectLock(t *testing.T) {
	dsn := migrated(t)
	fencer, err := store.Open(t.Context(), store.Options{MySQL: dsn, MaxOpen: 16, MaxIdle: 16, TxTimeout: 5 * time.Second})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, fencer.Close()) })
	to, err := mysql.ParseDSN(dsn)
	require.NoError(t, err)
	history.Check(t, history.Options{
		Server: to.Addr,
		Dial: func(t testing.TB, addr string) lock.Backend {
			return named(t, at(t, dsn, addr), NamedOptions{Fencer: fencer, Conns: 24})
		},
		Lease:      time.Second,
		Exceptions: history.Exceptions{Session: true, Late: time.Second},
	})
}
