package lock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	// maxCleanups is how many tries to free abandoned keys may be under way at once. It is
	// few, because they share the server and its connections with the callers: what is
	// tried as often as a slow server lets many callers give up keeps it slow, and then
	// nothing ends that, not even that the cause is gone.
	maxCleanups = 8
	// cleanupsPerSecond bounds the tries for what was abandoned more than a second ago.
	cleanupsPerSecond = 1000
	lastGap           = time.Second
)

// cleanupGaps are the pauses between the first tries to free an abandoned key. Then
// there is one every lastGap, or less often where many keys are abandoned.
var cleanupGaps = []time.Duration{
	30 * time.Millisecond, 70 * time.Millisecond, 150 * time.Millisecond, 250 * time.Millisecond, 400 * time.Millisecond,
}

// Cleaner frees, in the background, the keys that abandoned calls may have taken, or may
// yet take. A call is abandoned if its caller gave up or asked again.
//
//	acquire ──────────────── given up              arrives late: taken without a holder
//	            cleanup         ├─ not held ── not held ── not held ── freed
//
// Such a call may reach the server after the first attempt to undo it, so one "not
// held" is no proof: the tries go on until all that may have been taken was freed, or
// until the lease of a call that arrived at once would be over. They do not wait for
// each other, because one may sit in a connection that is a black hole. When a server that
// was silent answers again, they begin anew, closely spaced.
type Cleaner struct {
	free     func(key, token string) error
	notFreed func(key string)
	slots    chan struct{} // one for each try under way

	mu      sync.Mutex
	all     map[owned]*abandoned
	closing bool
	closed  bool
	empty   chan struct{} // closed when nothing is left after closing
}

// owned is a key and its token: the keys of a batch share their token.
type owned struct{ key, token string }

// abandoned is one acquisition whose calls were abandoned.
type abandoned struct {
	owned

	began time.Time // when it was added last
	until time.Time // the end of the lease of a call that was carried out then
	calls int       // so many of them may have arrived, or may yet
	timer *time.Timer

	next     int  // index of the next gap
	queued   bool // a try waits for its slot
	running  int  // tries under way
	answered bool // the server answered to one
	silent   bool // the last one had no answer
	over     bool // nothing is tried any more
}

// NewCleaner returns a Cleaner. free makes one bounded call for a key; ErrNotHeld says that
// the server answered, and any other error that it did not. notFreed is told of each key
// for which there was no answer until its lease was over.
func NewCleaner(free func(key, token string) error, notFreed func(key string)) *Cleaner {
	return &Cleaner{
		free: free, notFreed: notFreed, slots: make(chan struct{}, maxCleanups),
		all: map[owned]*abandoned{}, empty: make(chan struct{}),
	}
}

// Add begins to free key, or goes on for longer if it has begun. calls is how many calls
// of the acquisition may have taken the key, each for the length of lease.
func (c *Cleaner) Add(key, token string, lease time.Duration, calls int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	now := time.Now()
	a := c.all[owned{key, token}]
	switch {
	case a == nil:
		a = &abandoned{owned: owned{key, token}}
		c.all[a.owned] = a
		a.timer = time.AfterFunc(0, func() { c.due(a) })
	case a.over: // a last try is under way
		a.next, a.answered, a.over = 0, false, false
		a.timer.Reset(0)
	}
	a.calls = max(a.calls, calls)
	a.began, a.until = now, now.Add(lease)
	if c.closing {
		a.until = earlier(a.until, now.Add(lastGap))
	}
}

// Drop ends the tries for a key that token is known not to have.
func (c *Cleaner) Drop(key, token string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a := c.all[owned{key, token}]; a != nil {
		c.end(a)
	}
}

// due makes one try and sets the time of the next.
func (c *Cleaner) due(a *abandoned) {
	c.mu.Lock()
	switch now := time.Now(); {
	case a.over:
		c.mu.Unlock()
		return
	case !now.Before(a.until):
		c.giveUp(a)
		return
	default:
		a.timer.Reset(max(time.Millisecond, min(c.gap(a), a.until.Sub(now))))
	}
	if a.queued {
		c.mu.Unlock()
		return
	}
	a.queued = true
	a.running++
	c.mu.Unlock()

	c.slots <- struct{}{}
	c.mu.Lock()
	a.queued = false
	c.mu.Unlock()
	err := c.free(a.key, a.token)
	<-c.slots
	c.tried(a, err)
}

// giveUp ends the tries for a key whose lease is over. The caller must hold mu; giveUp unlocks it.
func (c *Cleaner) giveUp(a *abandoned) {
	a.over = true
	a.running++ // Close waits until it is counted
	heard := a.answered
	c.mu.Unlock()
	if !heard {
		c.notFreed(a.key)
	}
	c.mu.Lock()
	a.running--
	c.forget(a)
	c.mu.Unlock()
}

// gap is the pause before the next try.
func (c *Cleaner) gap(a *abandoned) time.Duration {
	if a.next < len(cleanupGaps) {
		a.next++
		return cleanupGaps[a.next-1]
	}
	return lastGap * time.Duration(1+len(c.all)/cleanupsPerSecond)
}

// tried records what came of a try.
func (c *Cleaner) tried(a *abandoned, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a.running--
	answered := err == nil || errors.Is(err, ErrNotHeld)
	a.answered = a.answered || answered
	switch {
	case a.over:
		c.forget(a)
	case err == nil && a.calls == 1:
		c.end(a)
	case !answered:
		a.silent = true
	case err == nil || a.silent:
		if err == nil {
			a.calls--
		}
		a.silent, a.next = false, 0
		a.timer.Reset(c.gap(a))
	}
}

func (c *Cleaner) end(a *abandoned) {
	a.over = true
	a.timer.Stop()
	c.forget(a)
}

// forget drops what is over when its last try has ended.
func (c *Cleaner) forget(a *abandoned) {
	if !a.over || a.running > 0 || c.all[a.owned] != a {
		return
	}
	delete(c.all, a.owned)
	c.finish()
}

// Close waits until each abandoned key has had its first second. It may
// be repeated.
func (c *Cleaner) Close(ctx context.Context) error {
	c.mu.Lock()
	c.closing = true
	for _, a := range c.all {
		a.until = earlier(a.until, a.began.Add(lastGap))
		a.timer.Reset(max(0, min(cleanupGaps[0], time.Until(a.until))))
	}
	c.finish()
	c.mu.Unlock()
	select {
	case <-c.empty:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("abandoned keys: %w", ctx.Err())
	}
}

// finish records that everything is done. The caller must hold mu.
func (c *Cleaner) finish() {
	if c.closing && !c.closed && len(c.all) == 0 {
		c.closed = true
		close(c.empty)
	}
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func (l *Locker) free(key, token string) error {
	ctx, cancel := context.WithTimeout(context.Background(), l.o.Timeout)
	defer cancel()
	err := l.backend.Release(ctx, key, token)
	if err != nil && !errors.Is(err, ErrNotHeld) {
		l.o.Logger.Debug("lock: cannot free an abandoned key yet", "key", key, "err", err)
	}
	return err
}

// notFreed counts a key that may have been taken without a holder, and stayed so for the
// length of its lease because the server gave no answer.
func (l *Locker) notFreed(key string) {
	l.o.Logger.Warn("lock: an abandoned key could not be freed, its lease has to run out", "key", key)
	if f := l.o.Hooks.NotFreed; f != nil {
		f()
	}
}
