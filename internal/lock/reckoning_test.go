package lock_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/lock"
)

// slow does at once what it is asked, and takes its time to say so.
type slow struct {
	*memory
	acquire, renew time.Duration
}

func (s slow) Acquire(ctx context.Context, key, token string, lease time.Duration) (lock.Grant, error) {
	defer time.Sleep(s.acquire)
	return s.memory.Acquire(ctx, key, token, lease)
}

func (s slow) Renew(ctx context.Context, key, token string, lease time.Duration) error {
	s.mu.Lock()
	first := s.renews == 0
	s.mu.Unlock()
	if !first {
		return errNetwork
	}
	defer time.Sleep(s.renew)
	return s.memory.Renew(ctx, key, token, lease)
}

func TestLease_End_CountsFromTheStartOfTheCall(t *testing.T) {
	for name, tc := range map[string]struct {
		s     slow
		began time.Duration // of the last call that the server granted
	}{
		"of a slow acquire": {slow{acquire: 12 * second, renew: 0}, 12 * second}, // renewed at once
		"of a slow renewal": {slow{acquire: 0, renew: 8 * second}, 10 * second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tc.s.memory = newMemory()
				l, err := lock.New(tc.s, lock.Options{
					Lease: 30 * second, Timeout: 20 * second, Logger: slog.New(slog.DiscardHandler),
				})
				require.NoError(t, err)
				began := time.Now()
				h := acquire(t, l, "a")
				<-h.Context().Done()
				require.Equal(t, tc.began+29*second, time.Since(began))
				require.True(t, tc.s.holds("a"), "nobody else could have acquired yet")
				require.NoError(t, l.Close(t.Context()))
			})
		})
	}
}

func TestGrant_Late_IsRenewedSoonerAndEndsEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := slow{memory: newMemory(), acquire: 5 * second}
		s.renews = 1 // every renewal fails
		l, err := lock.New(s, lock.Options{Lease: 30 * second, Timeout: 20 * second, Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		began := time.Now()
		h := acquire(t, l, "a")
		<-h.Context().Done()
		require.Equal(t, 29*second, time.Since(began))
		require.NoError(t, l.Close(t.Context()))
	})
}

func TestGrant_AfterDeadline_IsNotHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := slow{memory: newMemory(), acquire: 2 * second}
		l, err := lock.New(s, lock.Options{Lease: time.Hour, Timeout: time.Minute, Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), second)
		defer cancel()
		_, err = l.Acquire(ctx, "a")
		require.ErrorIs(t, err, lock.ErrNotAcquired)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NoError(t, l.Close(t.Context()))
		require.False(t, s.holds("a"), "what was given is freed")
	})
}

func TestGrant_AsLateAsItsLease_IsNotHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := slow{memory: newMemory(), acquire: 10 * second}
		l, err := lock.New(s, lock.Options{Lease: 10 * second, Timeout: time.Minute, Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		_, err = l.Acquire(t.Context(), "a")
		require.ErrorIs(t, err, lock.ErrUnavailable)
		require.NoError(t, l.Close(t.Context()))
	})
}

func TestAcquire_ShortWait_LetsCallFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := slow{memory: newMemory(), acquire: 30 * time.Millisecond}
		l, err := lock.New(s, lock.Options{Lease: 30 * second, Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		h := acquire(t, l, "a", lock.WithWait(10*time.Millisecond))
		other, err := lock.New(s, lock.Options{Lease: 30 * second})
		require.NoError(t, err)
		_, err = other.Acquire(t.Context(), "a", lock.WithWait(10*time.Millisecond))
		require.ErrorIs(t, err, lock.ErrNotAcquired)
		require.Equal(t, 2, s.count(&s.acquires), "and makes no second one")
		require.NoError(t, h.Release(t.Context()))
		require.NoError(t, errors.Join(l.Close(t.Context()), other.Close(t.Context())))
	})
}
