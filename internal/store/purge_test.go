package store

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPurgeLocks_UnusedKeys_AreDeletedInSteps(t *testing.T) {
	s := onMariaDB(t)
	const keys = purgeStep + 20
	day := 24 * time.Hour
	old := time.Now().Add(-10 * day).UnixMicro()
	for i := range keys {
		raw(t, s, "INSERT INTO lock_fences (name, fence) VALUES (?, ?)", fmt.Sprintf("user:%d", i), old)
	}
	recent, err := s.NextFence(t.Context(), "user:recent")
	require.NoError(t, err)
	require.NoError(t, s.AdvanceFence(t.Context(), "user:raised", recent+uint64(day.Microseconds())))
	lease := "INSERT INTO lock_leases (name, token, counter, fence, expires_at) VALUES (?, 'x', ?, ?, UTC_TIMESTAMP(6) + INTERVAL ? DAY)"
	raw(t, s, lease, "over", old, old, -9)
	raw(t, s, lease, "held since long", old, old, 1)

	rows := func(table string) (n int) {
		require.NoError(t, s.pools[0].QueryRowContext(t.Context(), "SELECT COUNT(*) FROM "+table).Scan(&n))
		return n
	}
	stopped := errors.New("stopped")
	n, err := s.PurgeLocks(t.Context(), time.Now().Add(-day), func(time.Duration) error { return stopped })
	require.ErrorIs(t, err, stopped)
	require.EqualValues(t, 1, n, "one step")
	steps := 0
	n, err = s.PurgeLocks(t.Context(), time.Now().Add(-day), func(time.Duration) error { steps++; return nil })
	require.NoError(t, err)
	require.EqualValues(t, keys, n)
	require.Equal(t, 3, steps)
	require.Equal(t, 1, rows("lock_leases"), "what is held stays")
	require.Equal(t, 2, rows("lock_fences"), "and what was taken since")

	next, err := s.NextFence(t.Context(), "user:1")
	require.NoError(t, err)
	require.Greater(t, next, uint64(old), "it goes on growing")
}
