package app

import (
	"crypto/rand"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/config"
	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/lock/etcdlock"
	"example.com/seckill/internal/lock/zklock"
	"example.com/seckill/internal/testing/testservers"
)

// lockBackend opens the backend of a deployment.
func lockBackend(t *testing.T, cfg config.Config) lock.Backend {
	t.Helper()
	b, stop, err := openLockBackend(cfg, nil, nil, nil, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, stop()) })
	return b
}

func TestLockServers_DeploymentsWithOtherPrefixes_DoNotExcludeEachOther(t *testing.T) {
	for backend, tc := range map[string]struct {
		start   func(t *testing.T) string
		earlier func(addr string) (lock.Backend, func() error, error) // as versions without lock.prefix opened it
	}{
		"etcd": {func(t *testing.T) string { return testservers.NewEtcd(t).Addr() }, func(addr string) (lock.Backend, func() error, error) {
			b, err := etcdlock.Connect([]string{addr}, etcdlock.Options{})
			return b, b.Close, err
		}},
		"zookeeper": {func(t *testing.T) string { return testservers.NewZooKeeper(t).Addr() }, func(addr string) (lock.Backend, func() error, error) {
			b, err := zklock.Connect([]string{addr}, zklock.Options{})
			return b, b.Close, err
		}},
	} {
		t.Run(backend, func(t *testing.T) {
			addr := tc.start(t)
			with := func(redisPrefix, lockPrefix string) lock.Backend {
				cfg := config.Default()
				cfg.Lock.Backend, cfg.Lock.Addrs, cfg.Redis.Prefix, cfg.Lock.Prefix = backend, []string{addr}, redisPrefix, lockPrefix
				return lockBackend(t, cfg)
			}
			earlier, stop, err := tc.earlier(addr)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, stop()) })
			acquire := func(b lock.Backend, key string) error {
				_, err := b.Acquire(t.Context(), key, rand.Text(), 30*time.Second)
				return err
			}
			depa, usual, kept := with("depa:", ""), with("seckill:", ""), with("depa:", "seckill")

			key := rand.Text()
			require.NoError(t, acquire(depa, key))
			require.NoError(t, acquire(with("depb:", ""), key))
			require.NoError(t, acquire(with("depa", ""), key))
			require.NoError(t, acquire(with("depa:", "another"), key))
			require.NoError(t, acquire(earlier, key))
			require.ErrorIs(t, acquire(with("depa:", ""), key), lock.ErrHeld, "one deployment")
			require.ErrorIs(t, acquire(usual, key), lock.ErrHeld, "the names of earlier versions, by default")
			require.ErrorIs(t, acquire(kept, key), lock.ErrHeld, "the names of earlier versions, by lock.prefix")

			const far = 1 << 60
			require.NoError(t, depa.(lock.FenceAdvancer).AdvanceFence(t.Context(), key, far))
			grant, err := usual.Acquire(t.Context(), rand.Text(), "token", 30*time.Second)
			require.NoError(t, err)
			require.Less(t, grant.Fence, uint64(far), "a deployment lifts its own fences only")
		})
	}
}

// The servers accept and answer nothing, so a call takes as long as one server may take.
func TestRedlock_NodeTimeout_IsTheConfiguredOne(t *testing.T) {
	cfg := config.Default()
	cfg.Lock.Backend, cfg.Lock.NodeTimeout = "redlock", 300*time.Millisecond
	for range 3 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		t.Cleanup(func() { _ = l.Close() })
		cfg.Lock.Addrs = append(cfg.Lock.Addrs, l.Addr().String())
	}
	b := lockBackend(t, cfg)
	began := time.Now()
	_, err := b.Acquire(t.Context(), "user:1", "token", 10*time.Second)
	require.ErrorContains(t, err, "0 of 3 nodes answered")
	require.GreaterOrEqual(t, time.Since(began), cfg.Lock.NodeTimeout)
}
