package lock

import (
	"context"
	"errors"
	"time"
)

// maxBrooms is how many clean-ups may run at once. When a server is away, more
// than that are pointless: what was left behind runs out with its lease.
const maxBrooms = 64

// sweepTimeout bounds one try of a clean-up: a connection that is a black hole
// must leave time for another one.
const sweepTimeout = 250 * time.Millisecond

// sweepPauses are the pauses before each try to free a key that nobody waits
// for any more. Together they stay under a second.
var sweepPauses = []time.Duration{0, 30, 70, 150, 250, 400} // milliseconds

// sweep frees, in the background, what an abandoned call may have taken or left.
// The call may reach the server after the first attempt to undo it, so one "not
// held" is no proof: sweep repeats itself until something was freed or a second
// has passed. done, if not nil, is closed when the abandoned call has returned.
func (l *Locker) sweep(key, token string, done <-chan struct{}) {
	select {
	case l.brooms <- struct{}{}:
	default:
		return
	}
	l.calls.Add(1) // never the first: the caller's own call is counted
	go func() {
		defer l.calls.Done()
		defer func() { <-l.brooms }()
		for _, ms := range sweepPauses {
			time.Sleep(ms * time.Millisecond)
			if l.free(key, token) {
				return
			}
		}
		if done != nil {
			<-done
			l.free(key, token)
		}
	}()
}

func (l *Locker) free(key, token string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), min(l.o.Timeout, sweepTimeout))
	defer cancel()
	err := l.backend.Release(ctx, key, token)
	if err != nil && !errors.Is(err, ErrNotHeld) {
		l.o.Logger.Debug("lock: cannot free an abandoned key yet", "key", key, "err", err)
	}
	return err == nil
}
