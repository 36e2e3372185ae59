package redislock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/testing/testservers"
)

func TestLease_AnyLength_IsNeverShorter(t *testing.T) {
	for asked, want := range map[time.Duration]int64{
		time.Millisecond:                      1,
		time.Millisecond + 1:                  2,
		1999 * time.Microsecond:               2,
		10*time.Second - time.Microsecond:     10_000,
		10*time.Second + 400*time.Microsecond: 10_001,
	} {
		require.Equal(t, want, millis(asked), asked.String())
	}
}

func TestAcquire_ReplyLost_IsRepeated(t *testing.T) {
	p := testservers.Proxy(t, testservers.Redis(t).Addr())
	b := New(dialed(t, p.Addr()), Options{})
	key := "user:reply"
	_, err := b.Acquire(t.Context(), key, "warm", time.Minute)
	require.NoError(t, err)
	require.NoError(t, b.Release(t.Context(), key, "warm"))
	defer p.LoseReplies(1)()
	_, err = b.Acquire(t.Context(), key, "token", time.Minute)
	require.NoError(t, err)
	require.NoError(t, b.Release(t.Context(), key, "token"))
}

func TestRelease_Subscribers_OnlyThoseOfItsKeyHear(t *testing.T) {
	b := New(dialed(t, testservers.Redis(t).Addr()), Options{})
	key, neighbour := "user:1000064", "user:1000128" // of the same bucket
	freed, cancel, err := b.Subscribe(t.Context(), key, "waiter")
	require.NoError(t, err)
	defer cancel()
	others, stop, err := b.Subscribe(t.Context(), neighbour, "waiter")
	require.NoError(t, err)
	defer stop()
	for _, k := range []string{neighbour, key} {
		_, err = b.Acquire(t.Context(), k, "token", time.Minute)
		require.NoError(t, err)
		_, err = b.AcquireInTurn(t.Context(), k, "waiter", time.Minute)
		require.ErrorIs(t, err, lock.ErrHeld)
	}
	require.Empty(t, others)
	require.NoError(t, b.Release(t.Context(), key, "token"))
	select {
	case <-freed:
	case <-time.After(5 * time.Second):
		t.Fatal("no message")
	}
	require.Empty(t, others, "that was not for them")
	require.NoError(t, b.Release(t.Context(), neighbour, "token"))
}
