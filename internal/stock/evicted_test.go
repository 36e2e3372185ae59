package stock

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/platform/redisconn"
	"example.com/seckill/internal/testing/testservers"
)

// A Redis that evicts drops whatever it likes of a shard, and answers on. Each key that a
// shard cannot be without is missed; its index of ages is made again, and the entries of
// a queue end as their holds do.
func TestLoaded_KeyEvicted_ReportsShardMissing(t *testing.T) {
	r := testservers.NewRedis(t)
	s := open(t, dial(t, redisconn.Options{Addrs: []string{r.Addr()}}), 40, 2)
	config := func(name, value string) {
		t.Helper()
		require.NoError(t, s.client.ConfigSet(t.Context(), name, value).Err())
	}
	there := func() []string {
		keys, err := s.client.Keys(t.Context(), tag(s.load.CouponID, 1)+"*").Result()
		require.NoError(t, err)
		more, err := s.client.Keys(t.Context(), tag(s.load.CouponID, 0)+"*").Result()
		require.NoError(t, err)
		return append(keys, more...)
	}
	used := func() int {
		info, err := s.client.Info(t.Context(), "memory").Result()
		require.NoError(t, err)
		_, rest, _ := strings.Cut(info, "used_memory:")
		text, _, _ := strings.Cut(rest, "\r")
		n, err := strconv.Atoi(text)
		require.NoError(t, err)
		return n
	}
	config("maxmemory-policy", "allkeys-random")
	seen := map[string]bool{}
	for round := 0; len(seen) < 7; round++ {
		require.Less(t, round, 500, "evicted so far: %v", seen)
		s.load.Epoch++
		require.NoError(t, s.Load(t.Context(), s.load))
		s.buy(s.at(0, round))
		before := there()
		s.requireLoaded(true)
		for less := 0; len(there()) == len(before); less += 512 { // until some go
			config("maxmemory", strconv.Itoa(max(1, used()-less)))
			config("maxmemory", "0")
		}
		after, needed := there(), false
		for _, key := range before {
			if suffix := key[strings.LastIndex(key, ":")+1:]; !slices.Contains(after, key) && slices.Contains(keySuffixes[:7], suffix) {
				needed, seen[suffix] = true, true
			}
		}
		s.requireLoaded(!needed)
	}
}
