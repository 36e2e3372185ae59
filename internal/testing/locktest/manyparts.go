package locktest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/testing/faultnet"
)

// manyParts is the rest of many: what becomes of the others when something befalls one key, and of
// all when the reply, the caller or the process is lost.
func (s suite) manyParts(t *testing.T) {
	length := s.scaled(time.Second)

	t.Run("a part is released by itself, and the rest is still held and renewed", func(t *testing.T) {
		s.inOneOfThree(t, func() bool {
			l, keys := s.locker(t, lease(length)), someKeys(4)
			leases := s.mustAcquireMany(t, l, keys)
			require.NoError(t, leases[0].Release(t.Context()))
			require.NoError(t, cmp.Or(l.ReleaseMany(t.Context(), leases[1:2])...))
			s.areFree(t, keys[:2])
			for _, h := range leases[:2] {
				require.ErrorIs(t, context.Cause(h.Context()), lock.ErrNotHeld)
			}
			held := s.staysHeld(t, leases[2:], length*3/2)
			if err := cmp.Or(l.ReleaseMany(t.Context(), leases[2:])...); err != nil {
				require.ErrorIs(t, err, lock.ErrLost)
				s.becomeFree(t, time.Minute, keys...)
				return false
			}
			require.True(t, held)
			s.areFree(t, keys)
			return true
		})
	})

	t.Run("the loss of one is told to that one alone", func(t *testing.T) {
		s.inOneOfThree(t, func() (alone bool) {
			l, keys := s.locker(t, lease(length)), someKeys(5)
			require.NoError(t, cmp.Or(l.DoMany(t.Context(), keys, func(ctx context.Context, held []*lock.Lease) []error {
				s.Delete(t, keys[2])
				assert.ErrorIs(t, ends(t, held[2].Context(), maxWait), lock.ErrLost)
				// The others are renewed for longer than a lease, and so is the whole.
				others := slices.Concat(held[:2], held[3:])
				alone = s.staysHeld(t, others, length*3/2)
				ended := ctx.Err() // asked first: the contexts of the leases end before that of the work
				alone = alone && !anyLost(others)
				assert.True(t, !alone || ended == nil)
				assert.Empty(t, s.Value(t, keys[2]))
				return nil
			})...))
			if alone {
				s.areFree(t, keys)
			} else {
				s.becomeFree(t, time.Minute, keys...)
			}
			return alone
		})
	})

	s.proxied(t, "when all are lost the work's context ends, before anybody else can come in", func(t *testing.T, p *faultnet.Proxy) {
		l := s.lockerAt(t, p.Addr(), lease(length))
		s.warm(t, l)
		other := s.locker(t, poll(5*time.Millisecond), wait(time.Minute))
		s.inOneOfThree(t, func() (given bool) {
			keys := someKeys(5)
			errs := l.DoMany(t.Context(), keys, func(ctx context.Context, held []*lock.Lease) []error {
				if given = !slices.Contains(held, nil); !given {
					return nil
				}
				defer p.Inject(faultnet.BlackHole)()
				h := mustAcquire(t, other, keys[4])
				assert.ErrorIs(t, context.Cause(held[4].Context()), lock.ErrLost) //nolint:testifylint // not the test's goroutine
				if s.Fence {
					assert.Greater(t, h.Fence(), held[4].Fence())
				}
				assert.ErrorIs(t, ends(t, ctx, maxWait), lock.ErrLost) //nolint:testifylint // not the test's goroutine
				assert.NoError(t, h.Release(t.Context()))
				return nil
			})
			if given {
				require.NoError(t, cmp.Or(errs...), "the fence decides what becomes of the work")
			} else {
				require.ErrorIs(t, cmp.Or(errs...), lock.ErrUnavailable)
			}
			return given
		})
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
		require.NoError(t, cmp.Or(l.DoMany(t.Context(), keys, func(ctx context.Context, outer []*lock.Lease) []error {
			for i, key := range keys {
				assert.NoError(t, l.Do(ctx, key, func(_ context.Context, inner *lock.Lease) error {
					ran++
					assert.Equal(t, outer[i].Fence(), inner.Fence())
					return nil
				}))
			}
			assert.NoError(t, cmp.Or(l.DoMany(ctx, keys[:2], func(context.Context, []*lock.Lease) []error {
				ran++
				return nil
			})...))
			assert.NotEmpty(t, s.Value(t, keys[0]))
			return nil
		})...))
		require.Equal(t, 4, ran)
		s.areFree(t, keys)
	})

	s.proxied(t, "a lost reply is no loss of any, of an acquire nor of a release", func(t *testing.T, p *faultnet.Proxy) {
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
		s.becomeFree(t, time.Minute, keys...)
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
		s.becomeFree(t, time.Minute, keys...)
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
		require.ErrorIs(t, cmp.Or(errs...), context.DeadlineExceeded)
		s.becomeFree(t, time.Minute, keys...)
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
		require.NoError(t, cmp.Or(errs...))
		require.NoError(t, <-closed)
		s.areFree(t, keys)
		_, errs = l.AcquireMany(t.Context(), keys)
		for _, err := range errs {
			require.ErrorIs(t, err, lock.ErrClosed)
		}
	})
}
