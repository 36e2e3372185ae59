package lock_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/lock"
)

// telling is a backend that hears of losses by itself.
type telling struct {
	*memory
	gone context.Context
}

func (b telling) Acquire(ctx context.Context, key, token string, lease time.Duration) (lock.Grant, error) {
	g, err := b.memory.Acquire(ctx, key, token, lease)
	g.Gone = b.gone
	return g, err
}

func TestNotifier_LossReported_EndsLeaseAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone, tell := context.WithCancel(context.Background())
		m := newMemory()
		losses := 0
		l, err := lock.New(telling{m, gone}, lock.Options{
			Lease: 30 * second, Hooks: lock.Hooks{Lost: func() { losses++ }}, Logger: slog.New(slog.DiscardHandler),
		})
		require.NoError(t, err)
		released, held := acquire(t, l, "released"), acquire(t, l, "held")
		require.NoError(t, released.Release(t.Context()))
		tell()
		synctest.Wait()
		require.ErrorIs(t, context.Cause(held.Context()), lock.ErrLost)
		require.Equal(t, 1, losses, "and none for what was released before")
		time.Sleep(20 * second)
		require.Zero(t, m.count(&m.renews), "a lost lease is not renewed")
		require.NoError(t, l.Close(context.Background()))
	})
}
