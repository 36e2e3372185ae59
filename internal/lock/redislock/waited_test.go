package redislock

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/testing/testservers"
)

// messages counts what was published on a server, by scripts too.
func messages(t testing.TB, c redis.UniversalClient) string {
	stats := c.Info(t.Context(), "commandstats").Val()
	_, after, found := strings.Cut(stats, "cmdstat_publish:calls=")
	if !found {
		return "0"
	}
	calls, _, _ := strings.Cut(after, ",")
	return calls
}

func TestRelease_KeyIsAwaited_PublishesOnlyThen(t *testing.T) {
	for name, o := range map[string]Options{"plain": {}, "in fair mode": {Fair: true}} {
		t.Run(name, func(t *testing.T) {
			c := dialed(t, testservers.NewRedis(t).Addr())
			b, key := New(c, o), "user:waited"
			// tenure is one holder's, while others are refused.
			tenure := func(refused ...func(context.Context, string, string, time.Duration) (lock.Grant, error)) {
				t.Helper()
				_, err := b.Acquire(t.Context(), key, "holder", time.Minute)
				require.NoError(t, err)
				for _, asks := range refused {
					_, err = asks(t.Context(), key, "other", time.Minute)
					require.ErrorIs(t, err, lock.ErrHeld)
				}
				require.NoError(t, b.Release(t.Context(), key, "holder"))
			}
			tenure()
			require.Equal(t, "0", messages(t, c), "nobody asked")
			tenure(b.Acquire)
			require.Equal(t, "0", messages(t, c), "who asked does not wait")
			tenure(b.AcquireInTurn, b.AcquireInTurn, b.Acquire)
			require.Equal(t, "1", messages(t, c), "somebody waits")
			require.ErrorIs(t, b.Release(t.Context(), key, "other"), lock.ErrNotHeld) // it has given up
			before := messages(t, c)                                                  // its place in a line is told of
			tenure()
			require.Equal(t, before, messages(t, c), "the next tenure has a mark of its own")
		})
	}
}

// In fair mode a waiter may be refused a free key, whose turn it is not. The next
// holder's value has no mark of it, but there is a line.
func TestFairMode_UnmarkedRelease_NotifiesWaitQueue(t *testing.T) {
	for name, release := range map[string]func(b *Backend, key, token string) error{
		"alone": func(b *Backend, key, token string) error { return b.Release(t.Context(), key, token) },
		"of many": func(b *Backend, key, token string) error {
			return b.ReleaseMany(t.Context(), []string{key, "user:other"}, token)[0]
		},
	} {
		t.Run(name, func(t *testing.T) { toldUnmarked(t, release) })
	}
}

func toldUnmarked(t *testing.T, release func(b *Backend, key, token string) error) {
	t.Helper()
	c := dialed(t, testservers.NewRedis(t).Addr())
	b, key := New(c, Options{Fair: true}), "user:line"
	_, err := b.Acquire(t.Context(), key, "holder", time.Minute)
	require.NoError(t, err)
	for _, waiter := range []string{"first", "second"} {
		_, err = b.AcquireInTurn(t.Context(), key, waiter, time.Minute)
		require.ErrorIs(t, err, lock.ErrHeld)
	}
	require.NoError(t, b.Release(t.Context(), key, "holder"))
	_, err = b.AcquireInTurn(t.Context(), key, "second", time.Minute)
	require.ErrorIs(t, err, lock.ErrHeld, "it is free, but not its turn")
	_, err = b.AcquireInTurn(t.Context(), key, "first", time.Minute)
	require.NoError(t, err)
	before := messages(t, c)
	require.NoError(t, release(b, key, "first"))
	require.NotEqual(t, before, messages(t, c))
	_, err = b.AcquireInTurn(t.Context(), key, "second", time.Minute)
	require.NoError(t, err)
	require.NoError(t, release(b, key, "second"))
}

func TestWaitMark_Set_LeavesGrantAsItIs(t *testing.T) {
	for name, addr := range map[string]string{"Redis": testservers.Redis(t).Addr(), "embedded": startMini(t)} {
		t.Run(name, func(t *testing.T) {
			c, key := dialed(t, addr), "user:marked"
			b := New(c, Options{})
			grant, err := b.Acquire(t.Context(), key, "holder", time.Minute)
			require.NoError(t, err)
			for range 2 {
				_, err = b.AcquireInTurn(t.Context(), key, "waiter", time.Minute)
				require.ErrorIs(t, err, lock.ErrHeld)
			}
			left := c.PTTL(t.Context(), namesOf(key).lock).Val()
			require.Greater(t, left, 30*time.Second)
			require.LessOrEqual(t, left, time.Minute)
			again, err := b.Acquire(t.Context(), key, "holder", time.Minute)
			require.NoError(t, err)
			require.Equal(t, grant, again)
			require.NoError(t, b.Renew(t.Context(), key, "holder", time.Minute))
			require.NoError(t, b.Release(t.Context(), key, "holder"))
		})
	}
}
