package mysqlforms

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/mysql84"
)

func TestForms_DialectOfMySQL84_AllStatementsAreKnown(t *testing.T) {
	p, err := mysql84.New(t.Context(), migrated(t))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	n := named(t, p.DSN(), NamedOptions{Watch: time.Millisecond})
	_, err = n.Acquire(t.Context(), "key", "a", time.Minute)
	require.NoError(t, err)
	_, err = n.Acquire(t.Context(), "key", "b", time.Minute)
	require.Error(t, err)
	require.NoError(t, n.Renew(t.Context(), "key", "a", 2*time.Minute))
	require.NoError(t, n.Release(t.Context(), "key", "a"))
	lock := NewRowLock(pool(t, p.DSN(), 2), pool(t, p.DSN(), 2))
	require.NoError(t, lock.Do(t.Context(), "key", func(context.Context, *Tx, uint64) error { return nil }))
	require.Empty(t, p.Refused())
}
