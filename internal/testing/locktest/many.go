package locktest

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/lock"
)

// many is about the leases of many keys that are acquired, renewed and released at once.
// What holds for one of them as it does for a single key is in the other groups.
func (s suite) many(t *testing.T) {
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
			require.NoError(t, cmp.Or(l.ReleaseMany(t.Context(), leases)...))
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
		together(6, func(i int) {
			l := processes[i%3]
			for round := range rounds {
				if i < 3 {
					key := keys[(i+round)%len(keys)]
					gates[key].passUnder(l, key)
					continue
				}
				// A refused caller leaves the batch and goes on alone.
				for at, err := range l.DoMany(t.Context(), keys, func(_ context.Context, held []*lock.Lease) []error {
					for _, h := range held {
						if h != nil {
							gates[h.Key()].pass(func() {})
						}
					}
					return nil
				}) {
					if err != nil && assert.ErrorIs(t, err, lock.ErrNotAcquired) {
						gates[keys[at]].passUnder(l, keys[at])
					}
				}
			}
		})
		passed := 0
		for _, g := range gates {
			passed += g.passed
		}
		require.Equal(t, 3*rounds+3*rounds*len(keys), passed, "nobody is left out")
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
		require.NoError(t, cmp.Or(l.ReleaseMany(t.Context(), leases)...))
		s.areFree(t, keys)
	})

	s.manyParts(t)
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

// inOneOfThree tries what a busy machine may spoil by losing a lease, or by giving none in time.
func (s suite) inOneOfThree(t testing.TB, holds func() bool) {
	t.Helper()
	for range 3 {
		if holds() {
			return
		}
	}
	t.Fatal("three times the leases were lost, or not given")
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

func anyLost(leases []*lock.Lease) bool {
	return slices.ContainsFunc(leases, func(h *lock.Lease) bool { return h.Context().Err() != nil })
}

// warmMany is warm for batches: the server has their scripts then, too.
func (s suite) warmMany(t testing.TB, l *lock.Locker) {
	t.Helper()
	s.warm(t, l)
	eventually(t, func() bool {
		leases, errs := l.AcquireMany(t.Context(), someKeys(2))
		l.ReleaseMany(t.Context(), leases)
		return errors.Join(errs...) == nil
	}, time.Minute, time.Second)
}

func (s suite) areFree(t testing.TB, keys []string) {
	t.Helper()
	for _, key := range keys {
		require.Empty(t, s.Value(t, key))
	}
}
