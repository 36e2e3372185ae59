package locktest

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"seckill/internal/lock"
)

// many is about the leases of many keys that are acquired, renewed and released at once.
// What holds for one of them as it does for a single key is in the other groups.
func (s suite) many(t *testing.T) {
	length := s.scaled(time.Second)

	t.Run("many keys are given at once, each with its own fence, and are free when they are released", func(t *testing.T) {
		a, b, keys := s.locker(t), s.locker(t), someKeys(12)
		last := make([]uint64, len(keys))
		for _, l := range []*lock.Locker{a, b, a} {
			leases := s.mustAcquireMany(t, l, keys)
			distinct := map[uint64]bool{}
			for i, h := range leases {
				require.Equal(t, keys[i], h.Key())
				require.NotEmpty(t, s.Value(t, keys[i]))
				if s.Fence {
					require.Greater(t, h.Fence(), last[i])
					last[i], distinct[h.Fence()] = h.Fence(), true
				}
			}
			require.NoError(t, firstOf(l.ReleaseMany(t.Context(), leases)))
			s.areFree(t, keys)
			for i, err := range l.ReleaseMany(t.Context(), leases) {
				require.ErrorIs(t, err, lock.ErrNotHeld, i)
			}
		}
	})

	t.Run("a batch excludes single holders and is excluded by them, from other processes and from its own", func(t *testing.T) {
		keys := someKeys(6)
		a, b := s.locker(t), s.locker(t)
		others, own := mustAcquire(t, b, keys[1]), mustAcquire(t, a, keys[4])
		leases, errs := a.AcquireMany(t.Context(), keys)
		for i, key := range keys {
			if i == 1 || i == 4 {
				require.Nil(t, leases[i])
				require.ErrorIs(t, errs[i], lock.ErrNotAcquired)
				require.ErrorIs(t, errs[i], lock.ErrHeld)
				continue
			}
			require.NoError(t, errs[i])
			for _, l := range []*lock.Locker{a, b} {
				_, err := l.Acquire(t.Context(), key, lock.WithWait(0))
				require.ErrorIs(t, err, lock.ErrNotAcquired)
			}
		}
		require.NoError(t, others.Context().Err())
		require.NoError(t, others.Release(t.Context()))
		require.NoError(t, own.Release(t.Context()))
		for i, err := range a.ReleaseMany(t.Context(), leases) {
			if leases[i] == nil {
				require.ErrorIs(t, err, lock.ErrNotHeld)
			} else {
				require.NoError(t, err)
			}
		}
		s.areFree(t, keys)
	})

	t.Run("batches and single holders of several processes are never inside together", func(t *testing.T) {
		keys, gates := someKeys(8), map[string]*gate{}
		for _, key := range keys {
			gates[key] = &gate{t: t}
		}
		processes := []*lock.Locker{s.locker(t, wait(time.Minute)), s.locker(t, wait(time.Minute)), s.locker(t, wait(time.Minute))}
		const rounds = 8
		var passed atomic.Int64
		together(6, func(i int) {
			l := processes[i%3]
			for round := range rounds {
				if i < 3 {
					key := keys[(i+round)%len(keys)]
					assert.NoError(t, l.Do(t.Context(), key, func(context.Context, *lock.Lease) error { //nolint:testifylint // not the test's goroutine
						gates[key].pass(func() { passed.Add(1) })
						return nil
					}))
					continue
				}
				// A refused caller leaves the batch and goes on alone.
				for at, err := range l.DoMany(t.Context(), keys, func(_ context.Context, held []*lock.Lease) []error {
					for _, h := range held {
						if h != nil {
							gates[h.Key()].pass(func() { passed.Add(1) })
						}
					}
					return nil
				}) {
					if err == nil || !assert.ErrorIs(t, err, lock.ErrNotAcquired) { //nolint:testifylint // not the test's goroutine
						continue
					}
					assert.NoError(t, l.Do(t.Context(), keys[at], func(context.Context, *lock.Lease) error {
						gates[keys[at]].pass(func() { passed.Add(1) })
						return nil
					}))
				}
			}
		})
		require.EqualValues(t, 3*rounds+3*rounds*len(keys), passed.Load(), "nobody is left out")
		s.areFree(t, keys)
	})

	t.Run("a key that is named twice is given once, and an empty batch gives nothing", func(t *testing.T) {
		l, keys := s.locker(t), someKeys(2)
		leases, errs := l.AcquireMany(t.Context(), []string{keys[0], keys[1], keys[0], ""})
		given := 0
		for _, i := range []int{0, 2} {
			if errs[i] == nil {
				given++
				continue
			}
			require.ErrorIs(t, errs[i], lock.ErrNotAcquired)
		}
		require.Equal(t, 1, given)
		require.NoError(t, errs[1])
		require.Error(t, errs[3])
		require.NotErrorIs(t, errs[3], lock.ErrNotAcquired, "no key is no key")
		held := leases[0]
		if held == nil {
			held = leases[2]
		}
		errs = l.ReleaseMany(t.Context(), []*lock.Lease{held, leases[1], held, nil})
		require.NoError(t, errs[1])
		require.ErrorIs(t, errs[3], lock.ErrNotHeld)
		require.NotEqual(t, errs[0] == nil, errs[2] == nil, "%v", errs)
		s.areFree(t, keys)

		leases, errs = l.AcquireMany(t.Context(), nil)
		require.Empty(t, leases)
		require.Empty(t, errs)
		require.Empty(t, l.ReleaseMany(t.Context(), nil))
		require.Empty(t, l.DoMany(t.Context(), nil, func(context.Context, []*lock.Lease) []error {
			t.Error("work without a lease")
			return nil
		}))
	})

	t.Run("five hundred keys at once", func(t *testing.T) {
		l, keys := s.locker(t, lease(s.scaled(30*time.Second)), timeout(20*time.Second)), someKeys(500)
		if s.AtOnce > 0 {
			keys = keys[:s.AtOnce]
		}
		other := s.connected(t, keys[0])
		leases := s.mustAcquireMany(t, l, keys)
		_, errs := other.AcquireMany(t.Context(), keys[:5])
		for _, err := range errs {
			require.ErrorIs(t, err, lock.ErrNotAcquired)
		}
		require.NoError(t, firstOf(l.ReleaseMany(t.Context(), leases)))
		s.areFree(t, keys)
	})

	t.Run("a part is released by itself, and the rest is still held and renewed", func(t *testing.T) {
		s.inOneOfThree(t, func() bool {
			l, keys := s.locker(t, lease(length)), someKeys(4)
			leases := s.mustAcquireMany(t, l, keys)
			require.NoError(t, leases[0].Release(t.Context()))
			require.NoError(t, firstOf(l.ReleaseMany(t.Context(), leases[1:2])))
			s.areFree(t, keys[:2])
			for _, h := range leases[:2] {
				require.ErrorIs(t, context.Cause(h.Context()), lock.ErrNotHeld)
			}
			held := s.staysHeld(t, leases[2:], length*3/2)
			require.Equal(t, held, firstOf(l.ReleaseMany(t.Context(), leases[2:])) == nil)
			s.areFree(t, keys)
			return held
		})
	})

	t.Run("the loss of one is told to that one alone", func(t *testing.T) {
		s.inOneOfThree(t, func() (alone bool) {
			l, keys := s.locker(t, lease(length)), someKeys(5)
			require.NoError(t, firstOf(l.DoMany(t.Context(), keys, func(ctx context.Context, held []*lock.Lease) []error {
				s.Delete(t, keys[2])
				assert.ErrorIs(t, ends(t, held[2].Context(), 2*length), lock.ErrLost)
				// The others are renewed for longer than a lease, and so is the whole.
				alone = s.staysHeld(t, append(held[:2:2], held[3:]...), length*3/2)
				assert.True(t, !alone || ctx.Err() == nil)
				assert.Empty(t, s.Value(t, keys[2]))
				return nil
			})))
			s.areFree(t, keys)
			return alone
		})
	})

	t.Run("when all are lost the work's context ends, before anybody else can come in", func(t *testing.T) {
		if s.Unproxied {
			return
		}
		p, keys := NewProxy(t, s.Server), someKeys(5)
		l := s.lockerAt(t, p.Addr(), lease(length), timeout(300*time.Millisecond))
		s.warm(t, l)
		other := s.locker(t, poll(5*time.Millisecond), wait(time.Minute))
		end := p.Swallow
		errs := l.DoMany(t.Context(), keys, func(ctx context.Context, held []*lock.Lease) []error {
			defer end()()
			h := mustAcquire(t, other, keys[4])
			assert.ErrorIs(t, context.Cause(held[4].Context()), lock.ErrLost) //nolint:testifylint // not the test's goroutine
			if s.Fence {
				assert.Greater(t, h.Fence(), held[4].Fence())
			}
			assert.ErrorIs(t, ends(t, ctx, length), lock.ErrLost) //nolint:testifylint // not the test's goroutine
			assert.NoError(t, h.Release(t.Context()))
			return nil
		})
		require.NoError(t, firstOf(errs), "the fence decides what becomes of the work")
	})

	t.Run("only members whose outcome is known are released", func(t *testing.T) {
		l, keys := s.locker(t, lease(length)), someKeys(4)
		errs := l.DoMany(t.Context(), keys, func(context.Context, []*lock.Lease) []error {
			return []error{nil, fmt.Errorf("commit: %w", lock.ErrOutcomeUnknown), assert.AnError}
		})
		require.NoError(t, errs[0])
		require.ErrorIs(t, errs[1], lock.ErrOutcomeUnknown)
		require.Equal(t, assert.AnError, errs[2])
		require.NoError(t, errs[3])
		require.NotEmpty(t, s.Value(t, keys[1]))
		s.areFree(t, []string{keys[0], keys[2], keys[3]})
		s.freeWithin(t, keys[1], length+2*time.Second)
	})

	t.Run("when the work panics, all are freed and the panic is raised again", func(t *testing.T) {
		l, keys := s.locker(t), someKeys(3)
		require.PanicsWithValue(t, "broken", func() {
			l.DoMany(t.Context(), keys, func(context.Context, []*lock.Lease) []error { panic("broken") })
		})
		s.areFree(t, keys)
	})

	t.Run("a Do of any of the keys inside the work runs at once, also in a batch", func(t *testing.T) {
		l, keys := s.locker(t), someKeys(3)
		ran := 0
		require.NoError(t, firstOf(l.DoMany(t.Context(), keys, func(ctx context.Context, outer []*lock.Lease) []error {
			for i, key := range keys {
				assert.NoError(t, l.Do(ctx, key, func(_ context.Context, inner *lock.Lease) error {
					ran++
					assert.Equal(t, outer[i].Fence(), inner.Fence())
					return nil
				}))
			}
			assert.NoError(t, firstOf(l.DoMany(ctx, keys[:2], func(context.Context, []*lock.Lease) []error {
				ran++
				return nil
			})))
			assert.NotEmpty(t, s.Value(t, keys[0]))
			return nil
		})))
		require.Equal(t, 4, ran)
		s.areFree(t, keys)
	})

	t.Run("a lost reply is no loss of any, of an acquire nor of a release", func(t *testing.T) {
		if s.Unproxied {
			return
		}
		p := NewProxy(t, s.Server)
		l := s.lockerAt(t, p.Addr())
		s.warmMany(t, l)
		keys := someKeys(5)
		end := p.LoseReplies(1)
		leases, errs := l.AcquireMany(t.Context(), keys)
		end()
		for i, err := range errs {
			if err != nil { // a backend may also say that it does not know, and clean up
				require.ErrorIs(t, err, lock.ErrUnavailable)
				continue
			}
			require.NotEmpty(t, s.Value(t, keys[i]))
		}
		s.warmMany(t, l) // so that it is the reply to a release
		defer p.LoseReplies(1)()
		for i, err := range l.ReleaseMany(t.Context(), leases) {
			if leases[i] != nil {
				require.NoError(t, err)
			}
		}
		s.becomeFree(t, keys...)
	})

	t.Run("when no reply comes, each is unavailable, and none is kept", func(t *testing.T) {
		if s.Unproxied {
			return
		}
		p, keys := NewStallProxy(t, s.Server), someKeys(20)
		l := s.lockerAt(t, p.Addr(), lease(s.scaled(90*time.Second)), timeout(300*time.Millisecond))
		s.warmMany(t, l)
		goOn := p.Stall()
		leases, errs := l.AcquireMany(t.Context(), keys)
		goOn()
		for i, err := range errs {
			require.Nil(t, leases[i])
			require.ErrorIs(t, err, lock.ErrUnavailable)
			require.NotErrorIs(t, err, lock.ErrNotAcquired)
		}
		s.becomeFree(t, keys...)
	})

	t.Run("when the caller gives up, each says so, and none is kept", func(t *testing.T) {
		if s.Unproxied {
			return
		}
		p, keys := NewStallProxy(t, s.Server), someKeys(20)
		l := s.lockerAt(t, p.Addr(), lease(s.scaled(90*time.Second)))
		s.warmMany(t, l)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		goOn := p.Stall()
		go func() { <-ctx.Done(); goOn() }()
		leases, errs := l.AcquireMany(ctx, keys)
		for i, err := range errs {
			require.Nil(t, leases[i])
			require.ErrorIs(t, err, lock.ErrNotAcquired)
			require.ErrorIs(t, err, context.DeadlineExceeded)
		}
		_, errs = l.AcquireMany(ctx, keys)
		require.ErrorIs(t, firstOf(errs), context.DeadlineExceeded)
		s.becomeFree(t, keys...)
	})

	t.Run("at shutdown the work is told, keeps its keys until it has returned, and releases them", func(t *testing.T) {
		l, keys := s.locker(t), someKeys(4)
		closed := make(chan error, 1)
		errs := l.DoMany(t.Context(), keys, func(ctx context.Context, held []*lock.Lease) []error {
			go func() { closed <- l.Close(t.Context()) }()
			assert.ErrorIs(t, ends(t, ctx, 20*time.Second), lock.ErrClosed)
			for i, h := range held {
				assert.ErrorIs(t, context.Cause(h.Context()), lock.ErrClosed) //nolint:testifylint // not the test's goroutine
				assert.NotEmpty(t, s.Value(t, keys[i]))
			}
			return nil
		})
		require.NoError(t, firstOf(errs))
		require.NoError(t, <-closed)
		s.areFree(t, keys)
		_, errs = l.AcquireMany(t.Context(), keys)
		for _, err := range errs {
			require.ErrorIs(t, err, lock.ErrClosed)
		}
	})
}

func someKeys(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = aKey()
	}
	return keys
}

// mustAcquireMany takes all keys, as mustAcquire takes one.
func (s suite) mustAcquireMany(t testing.TB, l *lock.Locker, keys []string) []*lock.Lease {
	t.Helper()
	leases, errs := l.AcquireMany(t.Context(), keys)
	for i, err := range errs {
		if err != nil {
			require.ErrorIs(t, err, lock.ErrUnavailable)
			leases[i] = mustAcquire(t, l, keys[i], lock.WithWait(10*time.Second))
		}
	}
	return leases
}

// inOneOfThree tries what a busy machine may spoil by losing a lease.
func (s suite) inOneOfThree(t testing.TB, holds func() bool) {
	t.Helper()
	for range 3 {
		if holds() {
			return
		}
	}
	t.Fatal("three times the leases were lost")
}

// staysHeld reports whether all leases are held for so long. Those that are not must have
// been told.
func (s suite) staysHeld(t testing.TB, leases []*lock.Lease, during time.Duration) bool {
	t.Helper()
	for end := time.Now().Add(during); time.Now().Before(end); time.Sleep(during / 30) {
		for _, h := range leases {
			free := s.Value(t, h.Key()) == ""
			if h.Context().Err() != nil {
				assert.ErrorIs(t, context.Cause(h.Context()), lock.ErrLost)
				return false
			}
			assert.False(t, free, "it is free, and its holder was not told")
		}
	}
	return true
}

// warmMany is warm for batches: the server has their scripts then, too.
func (s suite) warmMany(t testing.TB, l *lock.Locker) {
	t.Helper()
	s.warm(t, l)
	l.ReleaseMany(t.Context(), s.mustAcquireMany(t, l, someKeys(2)))
}

func (s suite) areFree(t testing.TB, keys []string) {
	t.Helper()
	for _, key := range keys {
		require.Empty(t, s.Value(t, key))
	}
}

func firstOf(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
