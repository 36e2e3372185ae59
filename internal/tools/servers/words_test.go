package servers_test

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"example.com/seckill/internal/testing/testservers"
	"example.com/seckill/internal/tools/servers"
)

// keeper is a server that stores one word.
type keeper struct {
	server
	write func(ctx context.Context, word string) error
	read  func(ctx context.Context) (string, error)
}

// keepers returns servers of two of the four kinds, which are drawn.
func keepers(t *testing.T) map[string]keeper {
	t.Helper()
	kinds := map[string]func() keeper{
		"MariaDB":   func() keeper { return mariaDBKeeper(t, testservers.NewMariaDB(t)) },
		"Redis":     func() keeper { return redisKeeper(t, testservers.NewRedis(t, servers.AppendOnly())) },
		"etcd":      func() keeper { return etcdKeeper(t, testservers.NewEtcd(t)) },
		"ZooKeeper": func() keeper { return zooKeeperKeeper(t, testservers.NewZooKeeper(t)) },
	}
	started := map[string]keeper{}
	for _, kind := range testservers.Sample(t, 2, slices.Sorted(maps.Keys(kinds))) {
		started[kind] = kinds[kind]()
	}
	return started
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

func etcdKeeper(t *testing.T, e *servers.Etcd) keeper {
	t.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{e.Addr()}, Logger: zap.NewNop()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return keeper{
		server: e,
		write: func(ctx context.Context, word string) error {
			_, err := c.Put(ctx, "word", word)
			return err
		},
		read: func(ctx context.Context) (string, error) {
			got, err := c.Get(ctx, "word")
			if err != nil || len(got.Kvs) == 0 {
				return "", err
			}
			return string(got.Kvs[0].Value), nil
		},
	}
}

func zooKeeperKeeper(t *testing.T, z *servers.ZooKeeper) keeper {
	t.Helper()
	with := func(f func(c *zk.Conn) error) error {
		c, _, err := zk.Connect([]string{z.Addr()}, 10*time.Second, zk.WithLogger(nolog{}))
		if err != nil {
			return err
		}
		defer c.Close()
		return f(c)
	}
	return keeper{
		server: z,
		write: func(_ context.Context, word string) error {
			return with(func(c *zk.Conn) error {
				_, err := c.Create("/word", nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
				if err == nil || errors.Is(err, zk.ErrNodeExists) {
					_, err = c.Set("/word", []byte(word), -1)
				}
				return err
			})
		},
		read: func(context.Context) (word string, err error) {
			err = with(func(c *zk.Conn) error {
				got, _, err := c.Get("/word")
				word = string(got)
				return err
			})
			return word, err
		},
	}
}

type nolog struct{}

func (nolog) Printf(string, ...any) {}

// client returns a new client, closed when the test ends.
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
