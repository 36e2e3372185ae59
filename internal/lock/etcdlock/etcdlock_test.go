package etcdlock

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/testing/locktest"
	"example.com/seckill/internal/testing/testservers"
)

func TestMain(m *testing.M) { testservers.Main(m) }

func TestBackend_OneServer_KeepsContract(t *testing.T) {
	locktest.Run(t, harness(t, testservers.NewEtcd(t).Addr()))
}

func dial(t testing.TB, addr string) *Backend {
	t.Helper()
	b, err := Connect([]string{addr}, Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

// observe is a client past every backend.
func observe(t testing.TB, addr string) *clientv3.Client {
	t.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{addr}, Logger: zap.NewNop()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

func harness(t testing.TB, addr string) locktest.Harness {
	c, ctx, names := observe(t, addr), context.Background(), &Backend{o: Options{Prefix: "seckill/lock/"}}
	return locktest.Harness{
		Server: addr,
		Dial:   func(t testing.TB, addr string) lock.Backend { return dial(t, addr) },
		Value: func(t testing.TB, key string) string {
			got, err := c.Get(ctx, names.held(key))
			require.NoError(t, err)
			if len(got.Kvs) == 0 {
				return ""
			}
			return string(got.Kvs[0].Value)
		},
		Remaining: func(t testing.TB, key string) time.Duration {
			got, err := c.Get(ctx, names.held(key))
			require.NoError(t, err)
			left, err := c.TimeToLive(ctx, clientv3.LeaseID(got.Kvs[0].Lease))
			require.NoError(t, err)
			return time.Duration(left.TTL) * time.Second
		},
		Overwrite: func(t testing.TB, key string) {
			_, err := c.Put(ctx, names.held(key), "stranger")
			require.NoError(t, err)
		},
		Kept: func(t testing.TB) int {
			got, err := c.Get(ctx, "", clientv3.WithPrefix(), clientv3.WithCountOnly())
			require.NoError(t, err)
			return int(got.Count)
		},
		Delete: func(t testing.TB, key string) {
			_, err := c.Delete(ctx, names.held(key))
			require.NoError(t, err)
		},
		Flush: func(t testing.TB) {
			_, err := c.Delete(ctx, "", clientv3.WithPrefix())
			require.NoError(t, err)
		},
		Subscriptions: func(t testing.TB) int {
			got, err := c.Get(ctx, names.o.Prefix+"line/", clientv3.WithPrefix(), clientv3.WithCountOnly())
			require.NoError(t, err)
			return int(got.Count)
		},
		Capabilities: locktest.Capabilities{
			Fence: true, FenceOutlivesData: true, AdvancesFence: true, Wakes: true, WakesOne: true, TellsTaken: true,
			Steps:  true,            // look, lease, key
			Coarse: 2 * time.Second, // the shortest lease that etcd grants
		},
	}
}
