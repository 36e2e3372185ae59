package locktest

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/testing/faultnet"
)

func (s suite) leases(t *testing.T) {
	length := s.scaled(600 * time.Millisecond)

	t.Run("20 a key held for five leases is still exclusive", func(t *testing.T) {
		for range 3 { // a busy machine may lose a lease; the holder must have been told then
			key, renewed := aKey(), atomic.Int32{}
			h := mustAcquire(t, s.locker(t, lease(length), hooks(lock.Hooks{Renewed: func() { renewed.Add(1) }})), key)
			other, err := s.locker(t).Acquire(t.Context(), key, lock.WithWait(5*length))
			if err == nil {
				require.ErrorIs(t, context.Cause(h.Context()), lock.ErrLost)
				require.NoError(t, other.Release(t.Context()))
				continue
			}
			require.ErrorIs(t, err, lock.ErrNotAcquired)
			if h.Context().Err() != nil { // in the last moment
				require.ErrorIs(t, context.Cause(h.Context()), lock.ErrLost)
				continue
			}
			require.GreaterOrEqual(t, renewed.Load(), int32(5))
			require.NoError(t, h.Release(t.Context()))
			return
		}
		t.Fatal("three times the lease was lost")
	})

	t.Run("21 the key of a holder that was killed is free within its lease", func(t *testing.T) {
		longest := 10 * time.Second
		if s.Remaining == nil { // a waiter that is not told when to come has to look
			longest = 50 * time.Millisecond
		}
		b, l := s.Dial(t, s.Server), s.locker(t, poll(longest))
		inTime := length*3/2 + 200*time.Millisecond
		fastest := time.Hour // of three: a busy machine may be late, and none may be early
		for n := 0; n < 3 && fastest >= inTime; n++ {
			key, began := aKey(), time.Now()
			_, err := b.Acquire(t.Context(), key, "killed", length) // and nothing renews it
			require.NoError(t, err)
			h := mustAcquire(t, l, key, lock.WithWait(time.Minute))
			took := time.Since(began)
			require.GreaterOrEqual(t, took, length*9/10)
			fastest = min(fastest, took)
			require.NoError(t, h.Release(t.Context()))
		}
		require.Less(t, fastest, inTime)
	})

	t.Run("22 when the key is deleted by hand, the holder's context ends within a renewal interval", func(t *testing.T) {
		s.lossIsTold(t, length, s.Delete)
	})

	t.Run("22 the same when it is overwritten by another", func(t *testing.T) {
		s.lossIsTold(t, length, s.Overwrite)
	})

	s.proxied(t, "24 the holder hears of a cut connection, if the key belonged to it", func(t *testing.T, p *faultnet.Proxy) {
		if !s.Session {
			return
		}
		key := aKey()
		h := mustAcquire(t, s.lockerAt(t, p.Addr(), lease(length)), key)
		p.Cut()
		require.ErrorIs(t, ends(t, h.Context(), maxWait), lock.ErrLost)
		s.freeWithin(t, key, time.Second)
		require.NoError(t, p.Join())
	})

	s.proxied(t, "24 errors that last less than the lease are survived", func(t *testing.T, p *faultnet.Proxy) {
		if s.Session {
			return
		}
		key := aKey()
		var renewed atomic.Int32
		l, calls := s.spied(t, p.Addr(), lease(s.scaled(6*time.Second)), // long beside what a busy machine takes to end the errors
			hooks(lock.Hooks{Renewed: func() { renewed.Add(1) }}))
		h := mustAcquire(t, l, key)
		p.Cut()
		eventually(t, func() bool { return calls.failedRenews.Load() > 0 }, maxWait, time.Millisecond)
		require.NoError(t, p.Join())
		eventually(t, func() bool { return renewed.Load() >= 2 }, maxWait, time.Millisecond)
		require.NoError(t, h.Context().Err())
		require.NoError(t, h.Release(t.Context()))
	})

	t.Run("25 a lost lease ends the renewal at once", func(t *testing.T) {
		l, calls := s.spied(t, s.Server, lease(length))
		h := mustAcquire(t, l, aKey())
		s.Delete(t, h.Key())
		require.ErrorIs(t, ends(t, h.Context(), maxWait), lock.ErrLost)
		s.noMoreRenewals(t, calls, length)
	})

	t.Run("nothing renews after the release", func(t *testing.T) {
		l, calls := s.spied(t, s.Server, lease(length))
		h := mustAcquire(t, l, aKey())
		eventually(t, func() bool { return calls.renews.Load() > 0 }, maxWait, time.Millisecond)
		require.NoError(t, h.Release(t.Context()))
		s.noMoreRenewals(t, calls, length)
	})

	s.proxied(t, "the holder hears of the loss before another acquires, also from a black hole", func(t *testing.T, p *faultnet.Proxy) {
		key := aKey()
		var lost atomic.Int32
		l := s.lockerAt(t, p.Addr(), lease(length), timeout(300*time.Millisecond),
			hooks(lock.Hooks{Lost: func() { lost.Add(1) }}))
		s.warm(t, l)
		lost.Store(0)
		h := mustAcquire(t, l, key)
		end := p.Inject(faultnet.BlackHole)
		defer end()
		other := mustAcquire(t, s.locker(t, poll(5*time.Millisecond)), key, lock.WithWait(time.Minute))
		require.ErrorIs(t, context.Cause(h.Context()), lock.ErrLost)
		eventually(t, func() bool { return lost.Load() == 1 }, maxWait, time.Millisecond) // hooks come after the contexts
		if s.Fence {
			require.Greater(t, other.Fence(), h.Fence())
		}
		require.NoError(t, other.Release(t.Context()))
	})
}

// lossIsTold takes a key away from its holder.
func (s suite) lossIsTold(t *testing.T, length time.Duration, take func(testing.TB, string)) {
	t.Helper()
	soon := length/3 + length/4
	fastest := time.Hour // of three: a busy machine may be late
	for n := 0; n < 3 && fastest >= soon; n++ {
		l, key := s.locker(t, lease(length)), aKey()
		h := mustAcquire(t, l, key)
		take(t, key)
		taken := time.Now()
		require.ErrorIs(t, ends(t, h.Context(), maxWait), lock.ErrLost)
		fastest = min(fastest, time.Since(taken))
		require.ErrorIs(t, h.Release(t.Context()), lock.ErrLost)
		s.Delete(t, key)
		again := mustAcquire(t, l, key)
		require.NoError(t, again.Release(t.Context()))
	}
	require.Less(t, fastest, soon)
}

// noMoreRenewals holds if two intervals pass without one.
func (s suite) noMoreRenewals(t testing.TB, calls *spy, length time.Duration) {
	t.Helper()
	n := calls.renews.Load()
	never(t, func() bool { return calls.renews.Load() > n }, length, 5*time.Millisecond)
}
