package lock_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/lock"
)

// early fails like a socket whose deadline is the context's, a moment before it.
type early struct{ *memory }

func (e early) Acquire(ctx context.Context, _, _ string, _ time.Duration) (lock.Grant, error) {
	d, _ := ctx.Deadline()
	time.Sleep(time.Until(d) - 100*time.Microsecond)
	return lock.Grant{}, errNetwork
}

func TestAcquire_CallEndsWithWait_ReturnsWaitError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, err := lock.New(early{newMemory()}, lock.Options{Lease: time.Minute, Timeout: time.Minute})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = l.Acquire(ctx, "a")
		require.ErrorIs(t, err, lock.ErrNotAcquired)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NoError(t, l.Close(context.Background()))
	})
}
