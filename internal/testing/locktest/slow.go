package locktest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/testing/faultnet"
)

// slow is about networks that take longer than a caller would wait for a holder.
func (s suite) slow(t *testing.T) {
	s.proxied(t, "a free key is given to a waiter whose wait is shorter than a call", func(t *testing.T, p *faultnet.Proxy) {
		key := aKey()
		l := s.lockerAt(t, p.Addr())
		s.warm(t, l)
		defer p.Inject(faultnet.DelayRequests(30 * time.Millisecond))()
		h := mustAcquire(t, l, key, lock.WithWait(10*time.Millisecond))
		_, err := s.locker(t).Acquire(t.Context(), key, lock.WithWait(time.Millisecond))
		require.ErrorIs(t, err, lock.ErrNotAcquired)
		require.NotErrorIs(t, err, lock.ErrUnavailable)
		require.NoError(t, h.Release(t.Context()))
	})
}
