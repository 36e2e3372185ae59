package ratelimit_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/platform/ratelimit"
)

// regular is a client apart from those that come once.
const regular int64 = 1 << 60

func TestLimiter_ManyClients_MemoryIsBounded(t *testing.T) {
	now := time.Unix(0, 0)
	l := ratelimit.New(ratelimit.Options[int64]{PerSecond: 1, Burst: 1, Now: func() time.Time { return now }})
	for id := range int64(300_000) {
		require.True(t, l.Allow(id))
	}
	require.LessOrEqual(t, l.Known(), 2*16*8192)

	require.True(t, l.Allow(regular))
	require.False(t, l.Allow(regular))
	for range 3 { // idle for long: only the new clients stay
		now = now.Add(time.Minute)
		for id := range int64(1000) {
			l.Allow(id)
		}
	}
	require.LessOrEqual(t, l.Known(), 2000)
	require.True(t, l.Allow(regular), "a client that was forgotten had a full bucket")
}

func TestLimiter_GenerationChanges_KeepsRate(t *testing.T) {
	now := time.Unix(0, 0)
	l := ratelimit.New(ratelimit.Options[int64]{PerSecond: 10, Burst: 10, Now: func() time.Time { return now }})
	admitted := 0
	for range 1000 { // 100 s in steps of 100 ms, 5 requests in each
		for range 5 {
			if l.Allow(regular) {
				admitted++
			}
		}
		now = now.Add(100 * time.Millisecond)
	}
	require.InDelta(t, 1009, admitted, 1, "a burst of 10, and 10 a second")
}

func TestLimiter_NoLimit_AllowsAll(t *testing.T) {
	l := ratelimit.New(ratelimit.Options[int64]{Burst: 1})
	for range 1000 {
		require.True(t, l.Allow(regular))
	}
	require.NoError(t, l.Reconcile(t.Context(), nil))
}

func BenchmarkAllow(b *testing.B) {
	for name, key := range map[string]func(int64) string{"alone": nil, "fleet": keyOf} {
		b.Run(name, func(b *testing.B) {
			l := ratelimit.New(ratelimit.Options[int64]{PerSecond: 20, Burst: 40, Key: key})
			id := int64(0)
			for b.Loop() {
				id++
				l.Allow(id % 50_000)
			}
		})
	}
}
