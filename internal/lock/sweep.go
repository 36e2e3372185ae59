package lock

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// maxBrooms is how many clean-ups may run at once. When a server is away, more
// than that are pointless: what was left behind runs out with its lease.
const maxBrooms = 64

// sweepAfter are the moments, after the beginning, of each try to free a key that
// nobody waits for any more.
var sweepAfter = []time.Duration{
	0, 30 * time.Millisecond, 100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond, 900 * time.Millisecond,
}

// sweep frees, in the background, what an abandoned call may have taken or left.
// The call may reach the server after the first attempt to undo it, so one "not
// held" is no proof: sweep repeats itself until something was freed or a second
// has passed. The attempts do not wait for each other, because one may sit in a
// connection that is a black hole.
func (l *Locker) sweep(key, token string) {
	select {
	case l.brooms <- struct{}{}:
	default:
		return
	}
	l.calls.Go(func() { // never the first: the caller's own call is counted
		defer func() { <-l.brooms }()
		var freed atomic.Bool
		var attempts sync.WaitGroup
		passed := time.Duration(0)
		for _, after := range sweepAfter {
			time.Sleep(after - passed)
			passed = after
			if freed.Load() {
				break
			}
			attempts.Go(func() {
				if l.free(key, token) {
					freed.Store(true)
				}
			})
		}
		attempts.Wait()
	})
}

func (l *Locker) free(key, token string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), l.o.Timeout)
	defer cancel()
	err := l.backend.Release(ctx, key, token)
	if err != nil && !errors.Is(err, ErrNotHeld) {
		l.o.Logger.Debug("lock: cannot free an abandoned key yet", "key", key, "err", err)
	}
	return err == nil
}
