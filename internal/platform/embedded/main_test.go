package embedded_test

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"example.com/seckill/internal/platform/embedded"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start starts a pair and a client of its Redis, both gone after the test.
func start(t *testing.T) (*embedded.Stores, *redis.Client) {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	s, err := embedded.Start(context.Background())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	client := redis.NewClient(&redis.Options{Addr: s.RedisAddr(), MaxRetries: -1})
	t.Cleanup(func() { _ = client.Close() })
	return s, client
}
