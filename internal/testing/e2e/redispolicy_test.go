package e2e_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/testservers"
)

func TestServe_RedisSettingChanges_LogsEachChangeOnce(t *testing.T) {
	t.Parallel()
	s := newShopOver(t, testservers.DSN(t))
	i := s.instance(t)
	set := func(name, value string) {
		t.Helper()
		require.NoError(t, s.redis.ConfigSet(t.Context(), name, value).Err())
	}
	logged := func(words string, times int) {
		t.Helper()
		within(t, 10*time.Second, func() error {
			if n := strings.Count(i.err.String(), words); n != times {
				return fmt.Errorf("%q is logged %d times", words, n)
			}
			return nil
		})
	}
	looks := func() { // some more: the clocks are read as often, by TIME
		t.Helper()
		read := func() (n int) {
			_, text, _ := strings.Cut(s.redis.Info(t.Context(), "commandstats").Val(), "cmdstat_time:calls=")
			_, _ = fmt.Sscan(strings.ReplaceAll(text, ",", " "), &n)
			return n
		}
		before := read()
		within(t, 10*time.Second, func() error {
			if n := read() - before; n < 3 {
				return fmt.Errorf("%d looks", n)
			}
			return nil
		})
	}
	set("maxmemory-policy", "allkeys-lru")
	logged("maxmemory-policy is allkeys-lru", 1)
	looks()
	logged("maxmemory-policy is allkeys-lru", 1)

	require.NotRegexp(t, `seckill_redis_evicted_keys_total\{.*\} [1-9]`, textOf(t, i.admin+"/metrics"))
	fill(t, s.redis)
	logged(`"msg":"Redis evicted keys"`, 1)
	assert.Regexp(t, `seckill_redis_evicted_keys_total\{.*\} [1-9]`, textOf(t, i.admin+"/metrics"))

	set("maxmemory", "0")
	set("maxmemory-policy", "noeviction")
	logged("a server is set up as it should be again", 1)
	set("appendonly", "yes")
	logged("a server is set up as it should be again", 2)
}

// fill writes until Redis has dropped keys.
func fill(t *testing.T, c redis.UniversalClient) {
	t.Helper()
	for n := range 200 {
		require.NoError(t, c.Set(t.Context(), fmt.Sprint("ballast:", n), strings.Repeat("x", 10_000), 0).Err())
	}
	require.NoError(t, c.ConfigSet(t.Context(), "maxmemory", "3mb").Err())
	for n := range 200 {
		require.NoError(t, c.Set(t.Context(), fmt.Sprint("more:", n), strings.Repeat("x", 10_000), 0).Err())
	}
}
