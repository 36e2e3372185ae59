package preflight_test

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/platform/preflight"
	"example.com/seckill/internal/platform/redisconn"
	"example.com/seckill/internal/testing/testservers"
)

func TestMain(m *testing.M) { testservers.Main(m) }

var use = preflight.RedisUse{Prefix: "seckill:", PoolSize: 64}

// requireFound is the one finding of the name, which has the level and says the words.
func requireFound(t *testing.T, f *preflight.Findings, name string, level preflight.Level, words ...string) {
	t.Helper()
	n := 0
	for _, one := range f.Of(preflight.Fine, preflight.Warning, preflight.Refused) {
		if one.Name != name {
			continue
		}
		n++
		require.Equal(t, level, one.Level, one.String())
		for _, word := range append(words, one.Server) {
			require.Contains(t, one.String(), word)
		}
		require.Equal(t, level == preflight.Fine, one.Do == "", "what to do about %s", one)
		require.NotContains(t, one.String(), "\n")
	}
	require.Equal(t, 1, n, "lines about %s", name)
}

func client(t *testing.T, addr, user string) redis.UniversalClient {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: addr, Username: user, Password: user, Protocol: 2, MaxRetries: -1})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func lookAtRedis(t *testing.T, c redis.UniversalClient, use preflight.RedisUse) *preflight.Findings {
	t.Helper()
	var f preflight.Findings
	require.NoError(t, redisconn.EachPrimary(t.Context(), c, "redis", f.Redis(use)))
	return &f
}

func lines(t *testing.T, f *preflight.Findings) []string {
	t.Helper()
	var text strings.Builder
	require.NoError(t, f.WriteText(&text))
	return strings.Split(strings.TrimSpace(text.String()), "\n")
}
