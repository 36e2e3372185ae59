package redislock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"seckill/internal/lock/locktest"
	"seckill/internal/servers/testservers"
)

func TestALeaseIsNeverShorterThanAskedFor(t *testing.T) {
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

func TestAnAcquireWhoseReplyWasLostIsAskedAgain(t *testing.T) {
	p := locktest.NewProxy(t, testservers.Redis(t).Addr())
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
