package testservers

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

func TestServers_RTTSet_AnswerThatMuchLater(t *testing.T) {
	Need(t, Servers)
	const rtt = 30 * time.Millisecond
	t.Setenv(rttVariable, rtt.String())
	m, r := NewMariaDB(t), NewRedis(t)
	client := redis.NewClient(&redis.Options{Addr: r.Addr()})
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	require.GreaterOrEqual(t, fastest(t, func(ctx context.Context) error { return client.Ping(ctx).Err() }), rtt, "Redis")
	db, err := sql.Open("mysql", m.DSN(""))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	require.GreaterOrEqual(t, fastest(t, func(ctx context.Context) error { return db.PingContext(ctx) }), rtt, "MariaDB")

	require.NoError(t, r.Restart(t.Context()))
	require.NoError(t, m.Restart(t.Context()), "a restart finds the server behind its proxy")
}

// fastest returns the least time that a call takes.
func fastest(t *testing.T, call func(ctx context.Context) error) (least time.Duration) {
	t.Helper()
	for n := range 5 {
		began := time.Now()
		require.NoError(t, call(t.Context()))
		if took := time.Since(began); n == 0 || took < least {
			least = took
		}
	}
	return least
}

func TestRoundTrip_NotWholeMilliseconds_IsRefused(t *testing.T) {
	for text, want := range map[string]time.Duration{"": 0, "2ms": 2 * time.Millisecond, "1s": time.Second} {
		t.Setenv(rttVariable, text)
		rtt, err := roundTrip()
		require.NoError(t, err)
		require.Equal(t, want, rtt)
	}
	for _, text := range []string{"2", "0ms", "-1ms", "1500us", "far"} {
		t.Setenv(rttVariable, text)
		_, err := roundTrip()
		require.ErrorContains(t, err, text)
	}
}
