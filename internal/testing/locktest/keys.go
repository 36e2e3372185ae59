package locktest

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/lock"
)

// keys is about unusual keys and lengths of lease.
func (s suite) keys(t *testing.T) {
	t.Run("a key may have as many bytes as promised, of any kind, and not one more", func(t *testing.T) {
		l, calls := s.spied(t, s.Server)
		for _, text := range []string{"k", "/", ".", "é", " ", "\x01", "'"} {
			key := strings.Repeat(text, (lock.MaxKey-30)/len(text)) + aKey()[5:]
			key += strings.Repeat("k", lock.MaxKey-len(key))
			h := mustAcquire(t, l, key)
			require.NotEmpty(t, s.Value(t, key), "%q", text)
			_, err := s.locker(t).Acquire(t.Context(), key)
			require.ErrorIs(t, err, lock.ErrNotAcquired)
			require.NoError(t, h.Release(t.Context()))
		}
		before := calls.calls()
		_, err := l.Acquire(t.Context(), strings.Repeat("k", lock.MaxKey+1))
		require.Error(t, err)
		require.NotErrorIs(t, err, lock.ErrUnavailable)
		require.Equal(t, before, calls.calls(), "the server is not even asked")
	})

	t.Run("leases may have any number of lengths, one after the other", func(t *testing.T) {
		l, key := s.locker(t), aKey()
		for i := range 40 {
			h := mustAcquire(t, l, key, lock.WithLease(s.scaled(5*time.Second)+time.Duration(i)*time.Millisecond))
			require.NoError(t, h.Release(t.Context()))
		}
	})
}
