package lock_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/lock"
)

// passing is a memory that passes keys on. before is called ahead of a pass, and after behind one: an error
// is a call that did not arrive, or an answer that was lost.
type passing struct {
	*memory

	passes        int
	next          string // to whom the last pass was
	awaited       bool
	before, after func(n int) error
}

func (p *passing) Handoff(_ context.Context, key, token, next string, lease time.Duration) (lock.Grant, error) {
	p.passes++
	p.next = next
	n := p.passes
	if p.before != nil {
		if err := p.before(n); err != nil {
			return lock.Grant{}, err
		}
	}
	g, err := p.pass(key, token, next, lease)
	if p.after != nil {
		if err := p.after(n); err != nil {
			return lock.Grant{}, err
		}
	}
	return g, err
}

func (p *passing) pass(key, token, next string, lease time.Duration) (lock.Grant, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e, ok := p.live(key)
	switch {
	case ok && e.token == next:
	case ok && e.token == token:
		p.fence++
		e = entry{token: next, fence: p.fence}
	default:
		return lock.Grant{}, lock.ErrNotHeld
	}
	e.until = time.Now().Add(lease)
	p.keys[key] = e
	return lock.Grant{Fence: e.fence, Awaited: p.awaited}, nil
}

// whilePassing calls f with a lease of "a" and a caller that waits for it.
func whilePassing(t *testing.T, p *passing, f func(t *testing.T, l *lock.Locker, first *lock.Lease, second <-chan answer, giveUp func())) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p.memory = newMemory()
		l, err := lock.New(p, lock.Options{Lease: 10 * time.Second, Wait: time.Minute})
		require.NoError(t, err)
		first := acquire(t, l, "a")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		second := waits(ctx, l)
		f(t, l, first, second, cancel)
		synctest.Wait()
		require.NoError(t, l.Close(t.Context()))
		require.False(t, p.holds("a"), "it is left free")
	})
}

type answer struct {
	lease *lock.Lease
	err   error
}

// waits acquires "a" in the background, and returns when it stands in line.
func waits(ctx context.Context, l *lock.Locker) <-chan answer {
	got := make(chan answer, 1)
	go func() {
		h, err := l.Acquire(ctx, "a")
		got <- answer{h, err}
	}()
	synctest.Wait()
	return got
}

func TestHandoff_Queue_TakesOneCallToTheFirst(t *testing.T) {
	p := &passing{}
	whilePassing(t, p, func(t *testing.T, _ *lock.Locker, first *lock.Lease, second <-chan answer, _ func()) {
		require.NoError(t, first.Release(t.Context()))
		require.ErrorIs(t, context.Cause(first.Context()), lock.ErrNotHeld)
		require.ErrorIs(t, first.Release(t.Context()), lock.ErrNotHeld)
		h := (<-second).lease
		require.Greater(t, h.Fence(), first.Fence())
		require.NoError(t, h.Context().Err())
		require.Equal(t, []int{1, 1, 0}, []int{p.acquires, p.passes, p.releases})
		time.Sleep(time.Minute) // it is renewed as any other
		require.NoError(t, h.Context().Err())
		require.NoError(t, h.Release(t.Context()))
		require.Equal(t, 1, p.releases)
	})
}

func TestHandoff_SeveralWaiters_AreServedInTurn(t *testing.T) {
	p := &passing{}
	whilePassing(t, p, func(t *testing.T, l *lock.Locker, first *lock.Lease, second <-chan answer, _ func()) {
		third := waits(t.Context(), l)
		require.NoError(t, first.Release(t.Context()))
		h := (<-second).lease
		synctest.Wait()
		require.Empty(t, third)
		require.NoError(t, h.Release(t.Context()))
		require.NoError(t, (<-third).lease.Release(t.Context()))
		require.Equal(t, []int{1, 2, 1}, []int{p.acquires, p.passes, p.releases})
	})
}

func TestPass_ReplyLost_IsRepeated(t *testing.T) {
	p := &passing{after: func(n int) error {
		if n == 1 {
			return errNetwork
		}
		return nil
	}}
	whilePassing(t, p, func(t *testing.T, _ *lock.Locker, first *lock.Lease, second <-chan answer, _ func()) {
		require.NoError(t, first.Release(t.Context()))
		h := (<-second).lease
		require.EqualValues(t, 2, h.Fence(), "it is the same grant")
		require.Equal(t, 2, p.passes)
		require.NoError(t, h.Release(t.Context()))
		require.Equal(t, 1, p.acquires)
		time.Sleep(5 * time.Second)
		require.Greater(t, p.count(&p.releases), 2, "the first pass may yet arrive")
	})
}

func TestHandoff_NoAnswer_IsNotARelease(t *testing.T) {
	p := &passing{before: func(int) error { return errNetwork }}
	whilePassing(t, p, func(t *testing.T, l *lock.Locker, first *lock.Lease, second <-chan answer, _ func()) {
		third := waits(t.Context(), l)
		require.ErrorIs(t, first.Release(t.Context()), lock.ErrUnavailable)
		synctest.Wait()
		require.Empty(t, second, "the first may have it still")
		p.before = nil
		require.NoError(t, first.Release(t.Context()), "and may release it")
		require.Equal(t, 2, p.passes, "which is no pass: the second has its turn already")
		require.NoError(t, (<-second).lease.Release(t.Context()))
		require.NoError(t, (<-third).lease.Release(t.Context()))
	})
}

func TestHandoff_DoneButNoAnswer_IsFoundByTheNext(t *testing.T) {
	p := &passing{after: func(int) error { return errNetwork }}
	whilePassing(t, p, func(t *testing.T, _ *lock.Locker, first *lock.Lease, second <-chan answer, _ func()) {
		require.ErrorIs(t, first.Release(t.Context()), lock.ErrUnavailable)
		h := (<-second).lease
		require.EqualValues(t, 2, h.Fence(), "it asked, and has it already")
		require.NoError(t, first.Release(t.Context()))
		require.NoError(t, h.Context().Err())
		require.NoError(t, h.Release(t.Context()))
	})
}

func TestHandoff_Late_IsUndone(t *testing.T) {
	p := &passing{before: func(int) error { return errNetwork }}
	whilePassing(t, p, func(t *testing.T, _ *lock.Locker, first *lock.Lease, second <-chan answer, giveUp func()) {
		token := p.keys["a"].token
		require.ErrorIs(t, first.Release(t.Context()), lock.ErrUnavailable)
		giveUp()
		require.ErrorIs(t, (<-second).err, lock.ErrNotAcquired)
		_, err := p.pass("a", token, p.next, 10*time.Second)
		require.NoError(t, err)
		time.Sleep(time.Second)
		require.False(t, p.holds("a"), "nobody holds it")
		require.NoError(t, first.Release(t.Context()))
	})
}

func TestHandoff_LateAndWaiterGone_IsUndone(t *testing.T) {
	p := &passing{before: func(int) error { time.Sleep(100 * time.Millisecond); return errNetwork }}
	whilePassing(t, p, func(t *testing.T, _ *lock.Locker, first *lock.Lease, second <-chan answer, giveUp func()) {
		token := p.keys["a"].token
		released := make(chan error, 1)
		go func() { released <- first.Release(t.Context()) }()
		time.Sleep(50 * time.Millisecond)
		giveUp()
		require.ErrorIs(t, (<-second).err, lock.ErrNotAcquired)
		require.ErrorIs(t, <-released, lock.ErrUnavailable)
		_, err := p.pass("a", token, p.next, 10*time.Second)
		require.NoError(t, err)
		time.Sleep(time.Second)
		require.False(t, p.holds("a"), "nobody holds it")
		require.NoError(t, first.Release(t.Context()))
	})
}

func TestHandoff_WaiterGivesUp_ReturnsAtOnceAndLeavesNothing(t *testing.T) {
	p := &passing{before: func(int) error { time.Sleep(500 * time.Millisecond); return nil }}
	whilePassing(t, p, func(t *testing.T, l *lock.Locker, first *lock.Lease, second <-chan answer, giveUp func()) {
		third := waits(t.Context(), l)
		released := make(chan error, 1)
		go func() { released <- first.Release(t.Context()) }()
		time.Sleep(100 * time.Millisecond)
		began := time.Now()
		giveUp()
		require.ErrorIs(t, (<-second).err, lock.ErrNotAcquired)
		require.Zero(t, time.Since(began))
		require.NoError(t, <-released)
		h := (<-third).lease
		require.Less(t, time.Since(began), 1500*time.Millisecond, "it is freed within a second")
		require.NoError(t, h.Release(t.Context()))
	})
}

func TestHandoff_AfterLease_IsNotHeld(t *testing.T) {
	p := &passing{before: func(n int) error { time.Sleep(950 * time.Millisecond); return nil }}
	synctest.Test(t, func(t *testing.T) {
		p.memory = newMemory()
		l, err := lock.New(p, lock.Options{Lease: time.Minute, Wait: time.Minute})
		require.NoError(t, err)
		first := acquire(t, l, "a")
		second := make(chan error, 1)
		go func() {
			_, err := l.Acquire(t.Context(), "a", lock.WithLease(time.Second))
			second <- err
		}()
		synctest.Wait()
		require.NoError(t, first.Release(t.Context()))
		require.ErrorIs(t, <-second, lock.ErrUnavailable)
		require.NoError(t, l.Close(t.Context()))
		require.False(t, p.holds("a"))
	})
}

func TestHandoff_Unsupported_ReleasesKey(t *testing.T) {
	for name, p := range map[string]*passing{
		"at once":                  {before: func(int) error { return errors.ErrUnsupported }},
		"after an answer was lost": {after: func(n int) error { return [...]error{nil, errNetwork, errors.ErrUnsupported}[n] }},
	} {
		t.Run(name, func(t *testing.T) {
			whilePassing(t, p, func(t *testing.T, _ *lock.Locker, first *lock.Lease, second <-chan answer, _ func()) {
				require.NoError(t, first.Release(t.Context()))
				h := (<-second).lease
				require.Equal(t, []int{2, 1}, []int{p.acquires, p.releases})
				require.NoError(t, h.Release(t.Context()))
			})
		})
	}
}

func TestPass_LeaseLost_ReportsLossAndReacquires(t *testing.T) {
	p := &passing{}
	p.before = func(int) error { // the server has lost its data
		p.mu.Lock()
		defer p.mu.Unlock()
		clear(p.keys)
		return nil
	}
	whilePassing(t, p, func(t *testing.T, _ *lock.Locker, first *lock.Lease, second <-chan answer, _ func()) {
		require.ErrorIs(t, first.Release(t.Context()), lock.ErrLost)
		h := (<-second).lease
		require.Equal(t, 2, p.acquires)
		require.NoError(t, h.Release(t.Context()))
	})
}

func TestHandoff_OtherProcessesWait_FreesKeyRegularly(t *testing.T) {
	p := &passing{awaited: true}
	whilePassing(t, p, func(t *testing.T, l *lock.Locker, first *lock.Lease, second <-chan answer, _ func()) {
		h := first
		for n := range 16 {
			require.NoError(t, h.Release(t.Context()))
			h = (<-second).lease
			second = waits(t.Context(), l)
			require.Equal(t, n+1, p.passes)
			require.True(t, p.holds("a"))
		}
		require.NoError(t, h.Release(t.Context()))
		require.False(t, p.holds("a"))
		time.Sleep(2 * time.Millisecond)
		_, err := p.Acquire(t.Context(), "a", "another process", 50*time.Millisecond)
		require.NoError(t, err, "the next of this process lets others ask first")
		h = (<-second).lease
		require.Equal(t, 16, p.passes)
		second = waits(t.Context(), l)
		require.NoError(t, h.Release(t.Context()))
		require.NoError(t, (<-second).lease.Release(t.Context()))
		require.Equal(t, 17, p.passes, "and it is passed again")
	})
}

func TestHandoff_OftenUnsupported_IsTriedAgain(t *testing.T) {
	p := &passing{awaited: true, before: func(n int) error {
		if n == 10 {
			return errors.ErrUnsupported
		}
		return nil
	}}
	whilePassing(t, p, func(t *testing.T, l *lock.Locker, first *lock.Lease, second <-chan answer, _ func()) {
		h := first
		for range 20 {
			require.NoError(t, h.Release(t.Context()))
			h = (<-second).lease
			second = waits(t.Context(), l)
		}
		require.Equal(t, 20, p.passes, "another process could take it in between")
		require.NoError(t, h.Release(t.Context()))
		require.NoError(t, (<-second).lease.Release(t.Context()))
	})
}

func TestHandoff_NoOtherProcessWaits_NeverFreesKey(t *testing.T) {
	p := &passing{}
	whilePassing(t, p, func(t *testing.T, l *lock.Locker, first *lock.Lease, second <-chan answer, _ func()) {
		h := first
		for range 100 {
			require.NoError(t, h.Release(t.Context()))
			h = (<-second).lease
			second = waits(t.Context(), l)
		}
		require.Equal(t, []int{1, 100, 0}, []int{p.acquires, p.passes, p.releases})
		require.NoError(t, h.Release(t.Context()))
		require.NoError(t, (<-second).lease.Release(t.Context()))
	})
}

func TestHandoff_LockerCloses_FreesKey(t *testing.T) {
	p := &passing{before: func(int) error { time.Sleep(500 * time.Millisecond); return nil }}
	whilePassing(t, p, func(t *testing.T, l *lock.Locker, first *lock.Lease, second <-chan answer, _ func()) {
		released := make(chan error, 1)
		go func() { released <- first.Release(t.Context()) }()
		time.Sleep(100 * time.Millisecond)
		require.NoError(t, l.Close(t.Context()))
		require.ErrorIs(t, (<-second).err, lock.ErrClosed)
		require.NoError(t, <-released)
		require.False(t, p.holds("a"))
	})
}
