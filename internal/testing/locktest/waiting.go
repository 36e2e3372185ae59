package locktest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/lock"
)

func (s suite) waiting(t *testing.T) {
	t.Run("11 a wait that outlasts the holder acquires", func(t *testing.T) {
		key := aKey()
		h := mustAcquire(t, s.locker(t), key)
		l, calls := s.spied(t, s.Server, wait(20*time.Second))
		got := acquiresAndReleases(t, l, key)
		s.waiterIsWaiting(t, calls)
		require.NoError(t, h.Release(t.Context()))
		require.NoError(t, <-got)
	})

	t.Run("12 a shorter wait ends within a tenth of its budget", func(t *testing.T) {
		key := aKey()
		h := mustAcquire(t, s.locker(t, lease(s.scaled(30*time.Second))), key)
		const budget = time.Second
		waiter := s.locker(t)
		// One of three has to be in time: a busy machine may be late. None may be early.
		inTime := func(t *testing.T, acquire func(ctx context.Context) error) {
			t.Helper()
			fastest := time.Hour
			for range 3 {
				ctx, cancel := context.WithTimeout(t.Context(), budget)
				began := time.Now()
				err := acquire(ctx)
				took := time.Since(began)
				cancel()
				require.ErrorIs(t, err, lock.ErrNotAcquired)
				require.GreaterOrEqual(t, took, budget*9/10)
				if fastest = min(fastest, took); fastest <= budget*11/10 {
					return
				}
			}
			t.Fatalf("the wait took %v and not %v", fastest, budget)
		}
		t.Run("with both errors when the context ended it", func(t *testing.T) {
			inTime(t, func(ctx context.Context) error {
				_, err := waiter.Acquire(ctx, key, lock.WithWait(time.Minute))
				require.ErrorIs(t, err, context.DeadlineExceeded)
				return err
			})
		})
		t.Run("as not acquired when the wait itself was over", func(t *testing.T) {
			inTime(t, func(context.Context) error {
				_, err := waiter.Acquire(t.Context(), key, lock.WithWait(budget))
				require.NotErrorIs(t, err, context.DeadlineExceeded)
				return err
			})
		})
		require.NoError(t, h.Release(t.Context()))
	})

	t.Run("13 a dead context writes nothing", func(t *testing.T) {
		l, calls := s.spied(t, s.Server, wait(time.Second))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := l.Acquire(ctx, aKey())
		require.ErrorIs(t, err, lock.ErrNotAcquired)
		require.ErrorIs(t, err, context.Canceled)
		require.Zero(t, calls.calls())
	})

	t.Run("14 a hundred waiters are cancelled, all return and nothing is left", func(t *testing.T) {
		key := aKey()
		h := mustAcquire(t, s.locker(t), key)
		value := s.Value(t, key)
		processes := []*lock.Locker{
			s.locker(t, wait(time.Minute)), s.locker(t, wait(time.Minute)),
			s.locker(t, wait(time.Minute)), s.locker(t, wait(time.Minute)),
		}
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for i := range 100 {
			all.Go(func() {
				_, err := processes[i%len(processes)].Acquire(ctx, key)
				assert.True(t, errors.Is(err, lock.ErrNotAcquired) && errors.Is(err, context.Canceled), "%v", err)
			})
		}
		s.queued(t, 96)
		cancel()
		all.Wait()
		require.Equal(t, value, s.Value(t, key))
		s.nobodyListens(t)
		require.NoError(t, h.Release(t.Context()))
		s.isLeftFree(t, key)
	})

	t.Run("15 a release wakes a waiter within 50 ms while polling is at 10 s", func(t *testing.T) {
		if !s.Wakes {
			return
		}
		holder := s.locker(t, lease(s.scaled(30*time.Second)))
		waiter, calls := s.spied(t, s.Server, wait(time.Minute), poll(10*time.Second), lease(s.scaled(30*time.Second)))
		const enough = 50 * time.Millisecond
		fastest := time.Hour // of some: a busy machine may be late, but polling is never this early
		for n := 0; n < 5 || fastest >= enough && n < 20; n++ {
			key := aKey()
			h := mustAcquire(t, holder, key)
			calls.acquires.Store(0)
			woken, done := make(chan time.Time, 1), make(chan struct{})
			go func() {
				defer close(done)
				other, err := waiter.Acquire(t.Context(), key)
				woken <- time.Now()
				if assert.NoError(t, err) {
					assert.NoError(t, other.Release(t.Context()))
				}
			}()
			s.waiterIsWaiting(t, calls)
			never(t, func() bool { return calls.acquires.Load() > 2 }, 100*time.Millisecond, time.Millisecond, "it sleeps")
			released := time.Now()
			require.NoError(t, h.Release(t.Context()))
			fastest = min(fastest, (<-woken).Sub(released))
			<-done
		}
		require.Less(t, fastest, enough)
	})

	t.Run("a release wakes one of many waiting processes and not the herd", func(t *testing.T) {
		if !s.WakesOne {
			return
		}
		const many = 5
		key := aKey()
		h := mustAcquire(t, s.locker(t, lease(s.scaled(30*time.Second))), key)
		var spies []*spy
		taken := make(chan *lock.Lease, many)
		for range many {
			l, calls := s.spied(t, s.Server, wait(time.Minute), poll(20*time.Second), lease(s.scaled(30*time.Second)))
			spies = append(spies, calls)
			go func() { other, _ := l.Acquire(t.Context(), key); taken <- other }()
		}
		asked := func() (n int64) {
			for _, calls := range spies {
				n += calls.acquires.Load()
			}
			return n
		}
		for _, calls := range spies {
			s.waiterIsWaiting(t, calls)
		}
		for turn := range int64(many) {
			require.NoError(t, h.Release(t.Context()))
			h = <-taken
			require.NotNil(t, h)
			never(t, func() bool { return asked() > 2*many+turn+1 }, 200*time.Millisecond, 5*time.Millisecond)
		}
		require.NoError(t, h.Release(t.Context()))
		s.nobodyListens(t)
	})

	t.Run("16 no subscription is left after contention", func(t *testing.T) {
		key := aKey()
		processes := []*lock.Locker{s.locker(t, wait(time.Minute)), s.locker(t, wait(time.Minute)), s.locker(t, wait(time.Minute))}
		g := &gate{t: t}
		together(30, func(i int) {
			g.passUnder(processes[i%3], key)
		})
		require.Equal(t, 30, g.passed)
		s.nobodyListens(t)
	})

	t.Run("17 eight waiters of a process are served in the order they came", func(t *testing.T) {
		l, key := s.locker(t, wait(time.Minute)), aKey()
		h := mustAcquire(t, l, key)
		var order []int // guarded by the lock itself
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				assert.NoError(t, l.Do(t.Context(), key, func(context.Context, *lock.Lease) error {
					order = append(order, i)
					return nil
				}))
			})
			s.queued(t, i+1)
		}
		require.NoError(t, h.Release(t.Context()))
		all.Wait()
		require.True(t, slices.IsSorted(order), "%v", order)
		require.Len(t, order, 8)
	})

	t.Run("18 waiters that gave up do not slow the others", func(t *testing.T) {
		l, key := s.locker(t, wait(time.Minute), poll(10*time.Second)), aKey()
		h := mustAcquire(t, l, key)
		ctx, cancel := context.WithCancel(t.Context())
		var gone sync.WaitGroup
		for range 50 {
			gone.Go(func() { _, err := l.Acquire(ctx, key); assert.ErrorIs(t, err, lock.ErrNotAcquired) })
		}
		s.queued(t, 50)
		got := acquiresAndReleases(t, l, key)
		s.queued(t, 51)
		cancel()
		gone.Wait()
		released := time.Now()
		require.NoError(t, h.Release(t.Context()))
		require.NoError(t, <-got)
		require.Less(t, time.Since(released), 2*time.Second)
	})

	t.Run("19 a waiter that gave up leaves no entry", func(t *testing.T) {
		key := aKey()
		waiter := s.connected(t, key)
		h := mustAcquire(t, s.locker(t), key)
		value := s.Value(t, key)
		_, err := waiter.Acquire(t.Context(), key, lock.WithWait(100*time.Millisecond))
		require.ErrorIs(t, err, lock.ErrNotAcquired)
		require.Equal(t, value, s.Value(t, key))
		require.NoError(t, h.Release(t.Context()))
		s.staysFree(t, key)
		s.nobodyListens(t)
	})

	t.Run("27 two goroutines without the handle exclude each other", func(t *testing.T) {
		l, key, g := s.locker(t, wait(time.Minute)), aKey(), &gate{t: t}
		together(2, func(int) {
			for range 50 {
				g.passUnder(l, key)
			}
		})
		require.Equal(t, 100, g.passed)
	})

	t.Run("one process asks the server once per acquisition, however many wait", func(t *testing.T) {
		l, calls := s.spied(t, s.Server, wait(time.Minute))
		key, g := aKey(), &gate{t: t}
		together(32, func(int) {
			for range 5 {
				g.passUnder(l, key)
			}
		})
		require.Equal(t, 160, g.passed)
		require.EqualValues(t, 160, calls.acquires.Load())
		require.EqualValues(t, 160, calls.releases.Load())
	})
}
