package locktest

import (
	"testing"
	"time"

	"example.com/seckill/internal/lock"
)

// waiterIsWaiting returns once the waiter of a spied Locker has been refused, has
// subscribed if it can, and was refused again.
func (s suite) waiterIsWaiting(t testing.TB, calls *spy) {
	t.Helper()
	eventually(t, func() bool { return calls.acquires.Load() >= 2 }, maxWait, time.Millisecond)
}

// acquiresAndReleases waits for key in the background, and tells what came of it and of the release.
func acquiresAndReleases(t testing.TB, l *lock.Locker, key string) <-chan error {
	t.Helper()
	got := make(chan error, 1)
	go func() {
		h, err := l.Acquire(t.Context(), key)
		if err == nil {
			err = h.Release(t.Context())
		}
		got <- err
	}()
	return got
}

func (s suite) nobodyListens(t testing.TB) {
	t.Helper()
	if s.Subscriptions != nil {
		eventually(t, func() bool { return s.Subscriptions(t) == 0 }, maxWait, 5*time.Millisecond)
	}
}

// isLeftFree is staysFree after calls whose callers gave up: one that was still
// in a pipeline may take the key, and is swept within a second.
func (s suite) isLeftFree(t testing.TB, key string) {
	t.Helper()
	s.becomeFree(t, 1500*time.Millisecond, key)
}

// staysFree holds if no other client takes the key for a while
// in which anything left over would have done so.
func (s suite) staysFree(t testing.TB, key string) {
	t.Helper()
	never(t, func() bool { return s.Value(t, key) != "" }, 300*time.Millisecond, 20*time.Millisecond)
}
