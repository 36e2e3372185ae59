package redislock

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/testing/locktest"
	"example.com/seckill/internal/testing/locktest/history"
	"example.com/seckill/internal/testing/testservers"
)

func TestFairMode_StandaloneServer_KeepsContract(t *testing.T) {
	t.Parallel()
	locktest.RunWaiting(t, fair(t, testservers.NewRedis(t).Addr()))
}

func TestFairMode_EmbeddedServer_KeepsContract(t *testing.T) {
	testservers.OneOf(t, 2)
	t.Parallel()
	locktest.RunWaiting(t, fair(t, startMini(t)))
}

func TestFairMode_Cluster_KeepsContract(t *testing.T) {
	testservers.OneOf(t, 2)
	t.Parallel()
	h, dial := clusterHarness(t)
	locktest.RunWaiting(t, fairly(t, h, dial))
}

func TestFairLockHistory_ManyClients_IsLinearizable(t *testing.T) {
	h := fair(t, testservers.NewRedis(t).Addr())
	history.Check(t, history.Options{Server: h.Server, Dial: h.Dial, InTurn: true})
}

func TestFairMode_Release_WakesTheFirstOnly(t *testing.T) {
	b, key := New(dialed(t, testservers.Redis(t).Addr()), Options{Fair: true, PlaceTTL: time.Hour}), "user:line-of-three"
	_, err := b.Acquire(t.Context(), key, "holder", time.Hour)
	require.NoError(t, err)
	tokens, freed := []string{"first", "second", "third"}, make([]<-chan struct{}, 3)
	for i, token := range tokens {
		_, err := b.AcquireInTurn(t.Context(), key, token, time.Hour)
		require.ErrorIs(t, err, lock.ErrHeld)
		var cancel func()
		freed[i], cancel, err = b.Subscribe(t.Context(), key, token)
		require.NoError(t, err)
		defer cancel()
	}
	holder := "holder"
	for i, token := range tokens {
		require.NoError(t, b.Release(t.Context(), key, holder))
		<-freed[i]
		b.subscriptions.mu.Lock() // every other waiter is told under it
		for _, other := range freed {
			require.Empty(t, other)
		}
		b.subscriptions.mu.Unlock()
		_, err = b.AcquireInTurn(t.Context(), key, token, time.Hour)
		require.NoError(t, err)
		holder = token
	}
	require.NoError(t, b.Release(t.Context(), key, holder))
}

func fair(t testing.TB, addr string) locktest.Harness {
	return fairly(t, harness(t, addr), func(t testing.TB, addr string) redis.UniversalClient { return dialed(t, addr) })
}

// fairly is a harness whose backends are fair; dial is how they connect.
func fairly(t testing.TB, h locktest.Harness, dial func(testing.TB, string) redis.UniversalClient) locktest.Harness {
	h.PlaceTTL = time.Second
	h.Dial = func(t testing.TB, addr string) lock.Backend {
		return New(dial(t, addr), Options{Fair: true, PlaceTTL: h.PlaceTTL})
	}
	observer := dial(t, h.Server)
	h.Line = func(t testing.TB, key string) int { return lineOf(t, observer, key) }
	return h
}

// lineOf counts who stands in line, and finds the two keys in step.
func lineOf(t testing.TB, observer redis.UniversalClient, key string) int {
	n := namesOf(key)
	var line, places *redis.IntCmd
	ctx := context.Background() // it may be asked until the very end of a test
	_, err := observer.TxPipelined(ctx, func(p redis.Pipeliner) error {
		line, places = p.ZCard(ctx, n.waitQueue()), p.HLen(ctx, n.places())
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, line.Val(), places.Val(), "a ticket for every place")
	return int(line.Val())
}

func TestFairMode_LineKeys_ShareSlotAndCollideWithNone(t *testing.T) {
	n := namesOf("user:42")
	require.Equal(t, "seckill:line:{lock:42}:user:42", n.waitQueue())
	require.Equal(t, "seckill:places:{lock:42}:user:42", n.places())
}

func TestFairMode_ProcessWithoutIt_FindsSameLock(t *testing.T) {
	addr := testservers.Redis(t).Addr()
	fair, plain := New(dialed(t, addr), Options{Fair: true}), New(dialed(t, addr), Options{})
	a, err := fair.Acquire(t.Context(), "user:mixed", "a", time.Minute)
	require.NoError(t, err)
	_, err = plain.AcquireInTurn(t.Context(), "user:mixed", "b", time.Minute)
	require.ErrorIs(t, err, lock.ErrHeld)
	require.NoError(t, fair.Release(t.Context(), "user:mixed", "a"))
	b, err := plain.AcquireInTurn(t.Context(), "user:mixed", "b", time.Minute)
	require.NoError(t, err)
	require.Greater(t, b.Fence, a.Fence)
	require.NoError(t, plain.Release(t.Context(), "user:mixed", "b"))
}
