package lock_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/lock"
)

// deaf frees a key while somebody is about to subscribe, and never sends a message.
type deaf struct{ *memory }

func (d deaf) Subscribe(ctx context.Context, key, token string) (<-chan struct{}, func(), error) {
	return make(chan struct{}), func() {}, d.Release(ctx, key, "stranger")
}

func TestSubscribe_ReleaseBefore_IsNotMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		l, err := lock.New(deaf{m}, lock.Options{Lease: time.Hour, Wait: time.Hour, Poll: time.Hour})
		require.NoError(t, err)
		_, err = m.Acquire(t.Context(), "a", "stranger", time.Hour)
		require.NoError(t, err)
		began := time.Now()
		h := acquire(t, l, "a")
		require.Zero(t, time.Since(began), "it did not sleep")
		require.NoError(t, h.Release(t.Context()))
		require.NoError(t, l.Close(t.Context()))
	})
}
