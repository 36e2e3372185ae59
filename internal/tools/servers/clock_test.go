package servers_test

import (
	"database/sql"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/testservers"
	"example.com/seckill/internal/tools/servers"
)

func TestRedis_TimeOfDay_MovesBothWays(t *testing.T) {
	clock := testservers.NewClock(t)
	client := redis.NewClient(&redis.Options{Addr: testservers.NewRedis(t, servers.ByClock(clock)).Addr()})
	defer func() { require.NoError(t, client.Close()) }()
	for _, by := range []time.Duration{0, time.Hour, -time.Hour, 0} {
		testservers.Move(t, clock, by)
		now, err := client.Time(t.Context()).Result()
		require.NoError(t, err)
		require.WithinDuration(t, time.Now().Add(by), now, 5*time.Second)
	}
}

func TestMariaDB_TimeOfDay_MovesBothWays(t *testing.T) {
	clock := testservers.NewClock(t)
	db, err := sql.Open("mysql", testservers.NewMariaDB(t, servers.ByClock(clock)).DSN("mysql"))
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	for _, by := range []time.Duration{0, time.Hour, -time.Hour, 0} {
		testservers.Move(t, clock, by)
		var now int64
		require.NoError(t, db.QueryRowContext(t.Context(), "SELECT UNIX_TIMESTAMP()").Scan(&now))
		require.WithinDuration(t, time.Now().Add(by), time.Unix(now, 0), 5*time.Second)
	}
}
