package mysqllock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/mysql84"
)

func TestLeaseRow_DialectOfMySQL84_AllStatementsAreKnown(t *testing.T) {
	p, err := mysql84.New(t.Context(), migrated(t))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	rows := NewLeaseRow(pool(t, p.DSN(), 2))
	require.NoError(t, rows.AdvanceFence(t.Context(), "key", 7))
	_, err = rows.Acquire(t.Context(), "key", "a", time.Minute)
	require.NoError(t, err)
	_, err = rows.Acquire(t.Context(), "key", "b", time.Minute)
	require.Error(t, err)
	require.NoError(t, rows.Renew(t.Context(), "key", "a", 2*time.Minute))
	require.NoError(t, rows.Release(t.Context(), "key", "a"))
	require.Empty(t, p.Refused())
}
