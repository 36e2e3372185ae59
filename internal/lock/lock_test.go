package lock_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"example.com/seckill/internal/lock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errNetwork = errors.New("connection reset")

const second = time.Second

// inBubble runs f with a clock that stands still while anybody works.
func inBubble(t *testing.T, o lock.Options, f func(t *testing.T, l *lock.Locker, m *memory)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		if o.Lease == 0 {
			o.Lease = 30 * second
		}
		o.Logger = slog.New(slog.DiscardHandler)
		l, err := lock.New(m, o)
		require.NoError(t, err)
		f(t, l, m)
		require.NoError(t, l.Close(context.Background()))
	})
}

func acquire(t *testing.T, l *lock.Locker, key string, opts ...lock.Option) *lock.Lease {
	t.Helper()
	h, err := l.Acquire(t.Context(), key, opts...)
	require.NoError(t, err)
	return h
}

func TestRenewal_Schedule_IsEachThirdOfLease(t *testing.T) {
	inBubble(t, lock.Options{}, func(t *testing.T, l *lock.Locker, m *memory) {
		h := acquire(t, l, "a")
		for n := 1; n <= 6; n++ {
			time.Sleep(10*second - time.Nanosecond)
			synctest.Wait()
			require.Equal(t, n-1, m.count(&m.renews), "not earlier")
			time.Sleep(time.Nanosecond)
			synctest.Wait()
			require.Equal(t, n, m.count(&m.renews))
		}
		require.NoError(t, h.Release(t.Context()))
		time.Sleep(time.Hour)
		require.Equal(t, 6, m.count(&m.renews), "nothing renews after the release")
	})
}

func TestLease_RenewalFails_ReportsLossBeforeExpiry(t *testing.T) {
	var lost atomic.Int32
	o := lock.Options{Hooks: lock.Hooks{Lost: func() { lost.Add(1) }}}
	inBubble(t, o, func(t *testing.T, l *lock.Locker, m *memory) {
		h := acquire(t, l, "a")
		time.Sleep(11 * second) // renewed once, at 10 s: the lease ends at 40 s
		m.mu.Lock()
		m.broken = func(string) error { return errNetwork }
		m.mu.Unlock()
		time.Sleep(28*second - time.Nanosecond)
		synctest.Wait()
		require.NoError(t, h.Context().Err())
		time.Sleep(time.Nanosecond) // 39 s: a margin of one second
		synctest.Wait()
		require.ErrorIs(t, context.Cause(h.Context()), lock.ErrLost)
		require.True(t, m.holds("a"), "nobody else could have acquired yet")
		require.EqualValues(t, 1, lost.Load())
	})
}

func TestRenewal_ErrorsWithinLease_AreSurvived(t *testing.T) {
	inBubble(t, lock.Options{}, func(t *testing.T, l *lock.Locker, m *memory) {
		h := acquire(t, l, "a")
		m.mu.Lock()
		m.broken = func(string) error { return errNetwork }
		m.mu.Unlock()
		time.Sleep(28 * second)
		m.mu.Lock()
		m.broken = nil
		m.mu.Unlock()
		time.Sleep(time.Hour)
		require.NoError(t, h.Context().Err())
		require.NoError(t, h.Release(t.Context()))
	})
}

// stuck never answers, and heeds no context.
type stuck struct {
	*memory
	until chan struct{}
}

func (s stuck) Renew(context.Context, string, string, time.Duration) error {
	<-s.until
	return errNetwork
}

func TestRenewal_OneHangs_DelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stuck{newMemory(), make(chan struct{})}
		l, err := lock.New(s, lock.Options{Lease: 30 * second, Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		var ended [3]time.Duration
		began := time.Now()
		var all sync.WaitGroup
		for i, key := range []string{"a", "b", "c"} {
			h := acquire(t, l, key)
			all.Go(func() { <-h.Context().Done(); ended[i] = time.Since(began) })
		}
		all.Wait()
		require.Equal(t, [3]time.Duration{29 * second, 29 * second, 29 * second}, ended)
		close(s.until)
		require.NoError(t, l.Close(t.Context()))
	})
}

func TestAcquire_Wait_EndsWithItsBudget(t *testing.T) {
	inBubble(t, lock.Options{Wait: 3 * second}, func(t *testing.T, l *lock.Locker, m *memory) {
		_, err := m.Acquire(t.Context(), "a", "stranger", time.Hour)
		require.NoError(t, err)
		began := time.Now()
		_, err = l.Acquire(t.Context(), "a")
		require.ErrorIs(t, err, lock.ErrNotAcquired)
		var held *lock.HeldError
		require.ErrorAs(t, err, &held)
		require.Equal(t, 3*second, time.Since(began))
		require.Less(t, m.count(&m.acquires), 40, "it backs off")
	})
}

func TestAcquire_HolderDies_SleepsAtMostItsLease(t *testing.T) {
	o := lock.Options{Wait: time.Minute, Poll: time.Hour}
	inBubble(t, o, func(t *testing.T, l *lock.Locker, m *memory) {
		_, err := m.Acquire(t.Context(), "a", "stranger", 10*second)
		require.NoError(t, err)
		began := time.Now()
		h := acquire(t, l, "a")
		require.LessOrEqual(t, time.Since(began), 10*second+time.Millisecond)
		require.NoError(t, h.Release(t.Context()))
	})
}

func TestAcquire_ContextCancelled_NamesItsCause(t *testing.T) {
	inBubble(t, lock.Options{}, func(t *testing.T, l *lock.Locker, _ *memory) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errNetwork)
		_, err := l.Acquire(ctx, "a")
		require.ErrorIs(t, err, lock.ErrNotAcquired)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, errNetwork)
	})
}

func TestAcquire_ServerError_IsUnavailableAndCleanedUp(t *testing.T) {
	inBubble(t, lock.Options{}, func(t *testing.T, l *lock.Locker, m *memory) {
		m.broken = func(call string) error {
			if call == "acquire" {
				return errNetwork
			}
			return nil
		}
		_, err := l.Acquire(t.Context(), "a")
		require.ErrorIs(t, err, lock.ErrUnavailable)
		require.ErrorIs(t, err, errNetwork)
		require.NotErrorIs(t, err, lock.ErrNotAcquired)
		time.Sleep(second)
		synctest.Wait()
		require.GreaterOrEqual(t, m.count(&m.releases), 5)
	})
}

func TestRelease_Failed_CanBeRepeated(t *testing.T) {
	inBubble(t, lock.Options{}, func(t *testing.T, l *lock.Locker, m *memory) {
		h := acquire(t, l, "a")
		m.broken = func(string) error { return errNetwork }
		require.ErrorIs(t, h.Release(t.Context()), lock.ErrUnavailable)
		m.broken = nil
		require.NoError(t, h.Release(t.Context()))
		require.ErrorIs(t, h.Release(t.Context()), lock.ErrNotHeld)
	})
}

func TestHooks_EachEvent_AreCalled(t *testing.T) {
	var waited, held time.Duration
	var tried int
	o := lock.Options{Wait: time.Minute, Poll: second, Hooks: lock.Hooks{
		Waited: func(d time.Duration) { waited = d },
		Tried:  func(n int) { tried = n },
		Held:   func(d time.Duration) { held = d },
	}}
	inBubble(t, o, func(t *testing.T, l *lock.Locker, m *memory) {
		_, _ = m.Acquire(t.Context(), "a", "stranger", 2*second)
		require.NoError(t, l.Do(t.Context(), "a", func(context.Context, *lock.Lease) error { time.Sleep(7 * second); return nil }))
		require.InDelta(t, 2*second, waited, float64(10*time.Millisecond))
		require.Equal(t, 7*second, held)
		require.Equal(t, m.count(&m.acquires)-1, tried)
	})
}

func TestAdvanceFence_BackendCannot_ReturnsUnsupported(t *testing.T) {
	inBubble(t, lock.Options{}, func(t *testing.T, l *lock.Locker, _ *memory) {
		require.ErrorIs(t, l.AdvanceFence(t.Context(), "a", 1), errors.ErrUnsupported)
	})
}

func TestClose_HolderStays_WaitsAtMostItsLease(t *testing.T) {
	inBubble(t, lock.Options{}, func(t *testing.T, l *lock.Locker, m *memory) {
		h := acquire(t, l, "a")
		began := time.Now()
		require.NoError(t, l.Close(t.Context()))
		require.Equal(t, 29*second, time.Since(began))
		require.ErrorIs(t, context.Cause(h.Context()), lock.ErrClosed)
		require.Zero(t, m.count(&m.renews))
	})
}

func TestRenewals_ManyLeases_UseOneGoroutine(t *testing.T) {
	inBubble(t, lock.Options{}, func(t *testing.T, l *lock.Locker, m *memory) {
		var leases []*lock.Lease
		for i := range 200 {
			leases = append(leases, acquire(t, l, string(rune('a'+i)), lock.WithLease(time.Duration(i+1)*second)))
		}
		time.Sleep(10 * time.Minute)
		for _, h := range leases {
			assert.NoError(t, h.Context().Err())
			assert.NoError(t, h.Release(t.Context()))
		}
	})
}

func TestAcquire_KeyHeldInProcess_RejectsOtherContexts(t *testing.T) {
	inBubble(t, lock.Options{}, func(t *testing.T, l *lock.Locker, _ *memory) {
		h := acquire(t, l, "a")
		_, err := l.Acquire(t.Context(), "a")
		require.ErrorIs(t, err, lock.ErrNotAcquired)
		other := acquire(t, l, "b")
		_, err = l.Acquire(other.Context(), "a")
		require.ErrorIs(t, err, lock.ErrNotAcquired, "the handle of another key opens nothing")
		require.NoError(t, other.Release(t.Context()))
		require.NoError(t, h.Release(t.Context()))
	})
}
