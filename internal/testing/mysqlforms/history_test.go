package mysqlforms

import (
	"testing"
	"time"

	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/testing/locktest/history"
	"example.com/seckill/internal/testing/testservers"
)

func TestNamedLockHistory_ManyClients_IsLinearizable(t *testing.T) {
	dsn := migrated(t)
	fencer := fences(t, dsn)
	history.Check(t, history.Options{
		Server: testservers.MariaDB(t).Addr(),
		Dial: func(t testing.TB, addr string) lock.Backend {
			return named(t, at(t, dsn, addr), NamedOptions{Fencer: fencer, Conns: 24})
		},
		Lease:      time.Second,
		Exceptions: history.Exceptions{Session: true, Late: time.Second},
	})
}
