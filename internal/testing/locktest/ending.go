package locktest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/lock"
)

func (s suite) ending(t *testing.T) {
	t.Run("40 at Close waiters get ErrClosed, holders' contexts end, and a release still frees", func(t *testing.T) {
		key, taken := aKey(), aKey()
		stranger := mustAcquire(t, s.locker(t), taken)
		l, calls := s.spied(t, s.Server, wait(time.Minute))
		h := mustAcquire(t, l, key)
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() { _, err := l.Acquire(t.Context(), key); assert.ErrorIs(t, err, lock.ErrClosed) })
		}
		all.Go(func() { _, err := l.Acquire(t.Context(), taken); assert.ErrorIs(t, err, lock.ErrClosed) })
		s.queued(t, 10)
		eventually(t, func() bool { return calls.acquires.Load() >= 3 }, maxWait, time.Millisecond)

		closed := make(chan error, 1)
		go func() { closed <- l.Close(t.Context()) }()
		all.Wait()
		require.ErrorIs(t, ends(t, h.Context(), maxWait), lock.ErrClosed)
		require.NotEmpty(t, s.Value(t, key), "nothing is freed under a holder")
		require.NoError(t, h.Release(t.Context()))
		require.NoError(t, <-closed)
		require.Empty(t, s.Value(t, key))

		_, err := l.Acquire(t.Context(), key)
		require.ErrorIs(t, err, lock.ErrClosed)
		require.NoError(t, l.Close(t.Context()), "it may be repeated")
		require.NoError(t, stranger.Release(t.Context()))
		s.nobodyListens(t)
	})

	t.Run("40 Close does not wait longer than its context for a holder that stays", func(t *testing.T) {
		l := s.locker(t, lease(s.scaled(30*time.Second)))
		h := mustAcquire(t, l, aKey())
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		require.ErrorIs(t, l.Close(ctx), context.DeadlineExceeded)
		require.NoError(t, h.Release(t.Context()))
	})
}
