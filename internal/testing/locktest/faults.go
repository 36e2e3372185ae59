package locktest

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/testing/faultnet"
	"example.com/seckill/internal/testing/testservers"
)

func (s suite) faults(t *testing.T) {
	t.Run("acquiring again with the same token gives the same lock with the same fence", func(t *testing.T) {
		b, key := s.Dial(t, s.Server), aKey()
		first, err := b.Acquire(t.Context(), key, "token", s.scaled(time.Minute))
		require.NoError(t, err)
		again, err := b.Acquire(t.Context(), key, "token", s.scaled(time.Minute))
		require.NoError(t, err)
		require.Equal(t, first, again)
		_, err = b.Acquire(t.Context(), key, "token2", s.scaled(time.Minute))
		require.ErrorIs(t, err, lock.ErrHeld)
		require.NoError(t, b.Release(t.Context(), key, "token"))
		require.ErrorIs(t, b.Release(t.Context(), key, "token"), lock.ErrNotHeld)
	})

	s.proxied(t, "a lost reply to an acquire does not turn our own lock into another's", func(t *testing.T, p *faultnet.Proxy) {
		l := s.lockerAt(t, p.Addr())
		s.warm(t, l)
		defer p.LoseReplies(1)()
		h, err := l.Acquire(t.Context(), aKey())
		if err != nil { // a backend may also say that it does not know, and clean up
			require.ErrorIs(t, err, lock.ErrUnavailable)
			return
		}
		require.NotEmpty(t, s.Value(t, h.Key()))
		require.NoError(t, h.Release(t.Context()))
	})

	s.proxied(t, "a lost reply to a release is no failure and no loss", func(t *testing.T, p *faultnet.Proxy) {
		h := mustAcquire(t, s.lockerAt(t, p.Addr()), aKey())
		defer p.LoseReplies(1)()
		require.NoError(t, h.Release(t.Context()))
		require.Empty(t, s.Value(t, h.Key()))
	})

	s.proxied(t, "a lost reply to a release is no loss, though another has the key before it is asked again", func(t *testing.T, p *faultnet.Proxy) {
		if s.Session { // a session that broke may have freed the key long before
			return
		}
		key := aKey()
		h := mustAcquire(t, s.lockerAt(t, p.Addr(), timeout(10*time.Second)), key)
		l, calls := s.spied(t, s.Server, wait(time.Minute), poll(5*time.Millisecond))
		next, told := make(chan error, 1), make(chan struct{})
		go func() {
			other, err := l.Acquire(t.Context(), key)
			if err == nil {
				<-told
				err = other.Release(t.Context())
			}
			next <- err
		}()
		s.waiterIsWaiting(t, calls)
		defer p.Inject(faultnet.DelayRequests(300 * time.Millisecond))() // time for the other to take it
		defer p.LoseReplies(1)()
		err := h.Release(t.Context())
		close(told)
		require.NoError(t, <-next)
		require.NoError(t, err)
	})

	t.Run("28 an unlock on a cancelled context frees", func(t *testing.T) {
		l, key := s.locker(t), aKey()
		h := mustAcquire(t, l, key)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.NoError(t, h.Release(ctx))
		require.Empty(t, s.Value(t, key))
	})

	s.proxied(t, "29 a reply after the deadline is no success, and the key is gone within a second", func(t *testing.T, p *faultnet.Proxy) {
		key := aKey()
		l := s.lockerAt(t, p.Addr(), lease(s.scaled(30*time.Second)))
		s.warm(t, l)
		const delay = 200 * time.Millisecond
		defer p.Inject(faultnet.DelayRequests(delay))()
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err := l.Acquire(ctx, key)
		require.ErrorIs(t, err, lock.ErrNotAcquired)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		switch late := func() bool { return s.Value(t, key) != "" }; {
		case s.Session: // the call finds its connection closed and is undone at once, perhaps unseen
			for end := time.Now().Add(time.Second); !late() && time.Now().Before(end); {
				runtime.Gosched()
			}
		case !s.Steps:
			eventually(t, late, time.Second, time.Millisecond, "the call arrives late")
		}
		s.freeWithin(t, key, time.Second+5*delay) // to undo it takes as many requests, where a connection is to be made first
		s.staysFree(t, key)
	})

	s.proxied(t, "29 an answer that took as long as the lease is no success", func(t *testing.T, p *faultnet.Proxy) {
		key, short := aKey(), s.scaled(400*time.Millisecond)
		l := s.lockerAt(t, p.Addr())
		s.warm(t, l)
		defer p.Inject(faultnet.DelayRequests(390 * time.Millisecond))()
		_, err := l.Acquire(t.Context(), key, lock.WithLease(short))
		if s.Coarse == 0 {
			require.ErrorIs(t, err, lock.ErrUnavailable)
		}
	})

	t.Run("when the context ends during an acquire, after whichever of its steps, the key is gone within a second", func(t *testing.T) {
		if s.Unproxied {
			return
		}
		// What is counted are packets, and a server divides its answers as it likes.
		for range 10 {
			if s.cutShortEverywhere(t) > 0 {
				return
			}
		}
		t.Fatal("the key was never there, so nothing was shown")
	})

	s.proxied(t, "a server that is away is unavailable at once", func(t *testing.T, p *faultnet.Proxy) {
		l := s.lockerAt(t, p.Addr())
		p.Cut()
		began := time.Now()
		_, err := l.Acquire(t.Context(), aKey())
		require.ErrorIs(t, err, lock.ErrUnavailable)
		require.NotErrorIs(t, err, lock.ErrNotAcquired)
		require.Less(t, time.Since(began), 3*time.Second)
		require.NoError(t, p.Join())
	})

	s.proxied(t, "a black hole is unavailable within the timeout of a call", func(t *testing.T, p *faultnet.Proxy) {
		l := s.lockerAt(t, p.Addr(), timeout(300*time.Millisecond))
		s.warm(t, l)
		defer p.Inject(faultnet.BlackHole)()
		began := time.Now()
		_, err := l.Acquire(t.Context(), aKey(), lock.WithWait(time.Minute))
		require.ErrorIs(t, err, lock.ErrUnavailable)
		require.Less(t, time.Since(began), 10*time.Second, "and not the minute")
	})

	t.Run("30 the server may forget its scripts between any two calls", func(t *testing.T) {
		if s.ForgetScripts == nil {
			return
		}
		b, key := s.Dial(t, s.Server), aKey()
		s.ForgetScripts(t)
		_, err := b.Acquire(t.Context(), key, "token", time.Minute)
		require.NoError(t, err)
		s.ForgetScripts(t)
		require.NoError(t, b.Renew(t.Context(), key, "token", time.Minute))
		if r, ok := b.(lock.FenceAdvancer); ok {
			s.ForgetScripts(t)
			require.NoError(t, r.AdvanceFence(t.Context(), key, 1))
		}
		s.ForgetScripts(t)
		require.NoError(t, b.Release(t.Context(), key, "token"))
	})
}

// cutShortEverywhere cuts acquires short after 0, 1, 2 … answers until one gets the
// key, and says how often the key had been written before.
func (s suite) cutShortEverywhere(t *testing.T) (written int) {
	t.Helper()
	for answered := range int32(20) {
		w, enough := s.cutShort(t, answered)
		if enough {
			return written
		}
		if w {
			written++
		}
	}
	t.Fatal("no number of answers is enough for an acquire")
	return 0
}

// cutShort lets so many answers to an acquire through and swallows the rest, and
// cancels it then. It reports whether the key had been written, and whether so
// many were enough.
func (s suite) cutShort(t *testing.T, answered int32) (written, enough bool) {
	t.Helper()
	p, key := testservers.Proxy(t, s.Server), aKey()
	l := s.lockerAt(t, p.Addr(), lease(s.scaled(30*time.Second)), timeout(700*time.Millisecond))
	s.warm(t, l)
	end := p.SwallowRepliesAfter(answered)
	defer end()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	got := make(chan error, 1)
	go func() {
		h, err := l.Acquire(ctx, key)
		if err == nil {
			end()                                     // a release is another matter,
			_ = h.Release(context.WithoutCancel(ctx)) // and its connection may be a hole already
		}
		got <- err
	}()
	var err error
	eventually(t, func() bool {
		select {
		case err = <-got:
			enough = true
		default:
		}
		return enough || p.Swallowed()
	}, 5*time.Second, 100*time.Microsecond)
	if enough {
		require.NoError(t, err)
		return false, true
	}
	// What was swallowed may be a server's word of receipt, and the step be carried out
	// a moment later. Where one step is all, it has to be.
	maxWait := 5 * time.Second
	if s.Steps {
		maxWait = 200 * time.Millisecond
	}
	for asked := time.Now(); !written && time.Since(asked) < maxWait; {
		written = s.Value(t, key) != ""
	}
	require.True(t, written || s.Steps, "the key was not written")
	cancel()
	end()                        // connections that were black holes stay so; new ones are not
	if err = <-got; err == nil { // it was given the key in the same moment
		return false, true
	}
	require.ErrorIs(t, err, lock.ErrNotAcquired)
	require.ErrorIs(t, err, context.Canceled)
	s.freeWithin(t, key, time.Second)
	s.staysFree(t, key)
	return written, false
}
