package servers_test

import (
	"context"
	"database/sql"
	"net"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"seckill/internal/servers"
	"seckill/internal/servers/testservers"
)

// keeper is a server that keeps one word.
type keeper struct {
	server
	write func(ctx context.Context, word string) error
	read  func(ctx context.Context) (string, error)
}

func keepers(t *testing.T) map[string]keeper {
	t.Helper()
	return map[string]keeper{
		"MariaDB": mariaDBKeeper(t, testservers.NewMariaDB(t)),
		"Redis":   redisKeeper(t, testservers.NewRedis(t, servers.AppendOnly())),
	}
}

func mariaDBKeeper(t *testing.T, m *servers.MariaDB) keeper {
	t.Helper()
	name, err := m.CreateDatabase(t.Context())
	require.NoError(t, err)
	db, err := sql.Open("mysql", m.DSN(name))
	require.NoError(t, err)
	db.SetMaxIdleConns(0) // a connection each time: the server is restarted in between
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	_, err = db.ExecContext(t.Context(), "CREATE TABLE words (id INT PRIMARY KEY, word TEXT)")
	require.NoError(t, err)
	return keeper{
		server: m,
		write: func(ctx context.Context, word string) error {
			_, err := db.ExecContext(ctx, "REPLACE INTO words VALUES (1, ?)", word)
			return err
		},
		read: func(ctx context.Context) (word string, err error) {
			err = db.QueryRowContext(ctx, "SELECT word FROM words").Scan(&word)
			return word, err
		},
	}
}

func redisKeeper(t *testing.T, r *servers.Redis) keeper {
	t.Helper()
	return keeper{
		server: r,
		write: func(ctx context.Context, word string) error {
			return client(t, r.Addr()).Set(ctx, "word", word, 0).Err()
		},
		read: func(ctx context.Context) (string, error) {
			return client(t, r.Addr()).Get(ctx, "word").Result()
		},
	}
}

// client is a new client, closed when the test ends.
func client(t *testing.T, addr string) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: addr, Protocol: 2, MaxRetries: -1})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// squat makes a Redis listen on another address.
func squat(t *testing.T, r *servers.Redis, addr string) {
	t.Helper()
	_, port, err := net.SplitHostPort(addr)
	require.NoError(t, err)
	require.NoError(t, client(t, r.Addr()).ConfigSet(t.Context(), "port", port).Err())
	require.NoError(t, client(t, addr).Ping(t.Context()).Err())
}
