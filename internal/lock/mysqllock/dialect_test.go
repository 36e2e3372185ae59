package mysqllock

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/mysql84"
)

func TestLocks_DialectOfMySQL84_AllStatementsAreKnown(t *testing.T) {
	p, err := mysql84.New(t.Context(), migrated(t))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	rows := NewLeaseRow(pool(t, p.DSN(), 2))
	named, err := NewNamed(p.DSN(), NamedOptions{Watch: time.Millisecond})
	require.NoError(t, err)
	t.Cleanup(named.Close)
	for name, b := range map[string]interface {
		Renew(ctx context.Context, key, token string, lease time.Duration) error
		Release(ctx context.Context, key, token string) error
	}{"row": rows, "named": named} {
		acquire := named.Acquire
		if name == "row" {
			acquire = rows.Acquire
			require.NoError(t, rows.Raise(t.Context(), "key", 7))
		}
		_, err := acquire(t.Context(), "key", "a", time.Minute)
		require.NoError(t, err, name)
		_, err = acquire(t.Context(), "key", "b", time.Minute)
		require.Error(t, err, name)
		require.NoError(t, b.Renew(t.Context(), "key", "a", 2*time.Minute), name)
		require.NoError(t, b.Release(t.Context(), "key", "a"), name)
	}
	lock := NewRowLock(pool(t, p.DSN(), 2), pool(t, p.DSN(), 2))
	require.NoError(t, lock.Do(t.Context(), "key", func(context.Context, *Tx, uint64) error { return nil }))
	require.Empty(t, p.Refused())
}
