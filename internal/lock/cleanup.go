package lock

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	// maxCleanups is how many tries to free abandoned keys may be under way at once on one
	// server. It is few, because the tries share the server and its connections with the callers.
	// A slow server makes many callers give up. Many tries would keep it slow even after the
	// cause is gone.
	maxCleanups = 8
	// maxDoubtful is how many of them may be for keys whose last try had no answer. The
	// others are left for keys that the server may answer for.
	maxDoubtful = maxCleanups / 2
	// cleanupsPerSecond bounds the tries for keys that were abandoned more than a second ago.
	cleanupsPerSecond = 1000
	lastGap           = time.Second
	// closeWithin bounds Close, also while no server answers.
	closeWithin = time.Second
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
// held" proves nothing. The tries go on until all that the calls may have taken was freed, or
// until the lease of a call that arrived at once would be over. A second try for a key
// does not wait for the first, because the first may sit in a connection that is a black
// hole. When a server that was silent answers again, the tries are closely spaced again.
//
// A key waits in a heap and not in a goroutine. Each server has its own slots, so that
// the keys of a silent server do not delay the keys of another one.
type Cleaner struct {
	free     func(ctx context.Context, key, token string) error
	notFreed func(key string)
	serverOf func(key string) string

	ctx    context.Context // of the tries
	cancel context.CancelFunc

	mu      sync.Mutex
	all     map[owned]*abandoned
	ends    cleanupHeap            // of all, by the end of the lease
	servers map[string]*cleanupsOf // those that have keys, or tries under way
	timer   *time.Timer            // for what is due next, or ends next
	busy    int                    // goroutines under way: tries, and one that reports
	unfreed []string               // keys to report
	reports bool                   // a goroutine reports them
	closing bool
	closeBy time.Time // once it is closing
	closed  bool
	empty   chan struct{} // closed when nothing is left after closing
}

// owned is a key and its token: the keys of a batch share their token.
type owned struct{ key, token string }

// abandoned is one acquisition whose calls were abandoned.
type abandoned struct {
	owned

	server *cleanupsOf
	began  time.Time // when it was added last
	until  time.Time // the end of the lease of a call that was carried out then
	calls  int       // so many of them may have arrived, or may yet

	due      time.Time // of the next try
	next     int       // index of the next gap
	tried    bool
	running  int  // tries under way
	answered bool // the server answered to one
	silent   bool // the last one had no answer
	over     bool // nothing is tried any more

	in         *cleanupHeap // of its server, where it waits for its next try; nil if there will be none
	place, end int          // index in that heap, and in the heap of ends
}

// before reports whether a is tried before other. First tries precede all others: while a
// server is slow, a key that was never tried gains more by a try than one that was.
func (a *abandoned) before(other *abandoned) bool {
	if a.tried != other.tried {
		return !a.tried
	}
	return a.due.Before(other.due)
}

// doubtful reports whether a try may find no answer, as the one before.
func (a *abandoned) doubtful() bool { return a.silent || a.running > 0 }

// NewCleaner returns a Cleaner. The function free makes one bounded call for a key. Its error
// is ErrNotHeld if the server answered, and any other error if it did not. The Cleaner calls
// notFreed for each key without an answer until its lease was over. The function serverOf
// names the server of a key, without asking a server; nil stands for one server.
func NewCleaner(
	free func(ctx context.Context, key, token string) error, notFreed func(key string), serverOf func(key string) string,
) *Cleaner {
	if serverOf == nil {
		serverOf = func(string) string { return "" }
	}
	c := &Cleaner{
		free: free, notFreed: notFreed, serverOf: serverOf,
		all: map[owned]*abandoned{}, ends: cleanupHeap{byEnd: true}, servers: map[string]*cleanupsOf{}, empty: make(chan struct{}),
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// Add begins to free key, or goes on for longer if it has begun. As many calls of the
// acquisition as calls says may have taken the key, each for the length of lease.
func (c *Cleaner) Add(key, token string, lease time.Duration, calls int) {
	server := c.serverOf(key)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	now := time.Now()
	a, known := c.all[owned{key, token}]
	if !known {
		a = &abandoned{owned: owned{key, token}, server: c.of(server), due: now}
		c.all[a.owned] = a
		a.server.keys++
	}
	a.calls = max(a.calls, calls)
	a.began, a.until = now, now.Add(lease)
	if c.closing {
		a.until = earlier(a.until, c.closeBy)
	}
	if known {
		heap.Fix(&c.ends, a.end)
	} else {
		heap.Push(&c.ends, a)
	}
	a.file()
	c.dispatch()
}

// Drop ends the tries for a key that token is known not to have.
func (c *Cleaner) Drop(key, token string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a := c.all[owned{key, token}]; a != nil {
		c.forget(a)
		c.finish()
	}
}

// dispatch drops the keys whose lease is over, begins the tries that are due, as far as there
// are slots, and sets the timer. The caller must hold mu.
func (c *Cleaner) dispatch() {
	now := time.Now()
	for len(c.ends.all) > 0 && !now.Before(c.ends.all[0].until) {
		c.giveUp(c.ends.all[0])
	}
	var next time.Time
	if len(c.ends.all) > 0 {
		next = c.ends.all[0].until
	}
	for _, s := range c.servers {
		a := s.first()
		for ; a != nil && !now.Before(a.due); a = s.first() {
			c.begin(a, now)
		}
		if a != nil {
			next = earlier(next, a.due)
		}
	}
	switch {
	case next.IsZero():
		if c.timer != nil {
			c.timer.Stop()
		}
	case c.timer == nil:
		c.timer = time.AfterFunc(next.Sub(now), c.wake)
	default:
		c.timer.Reset(next.Sub(now))
	}
	c.finish()
}

func (c *Cleaner) wake() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dispatch()
}

// begin makes one try and sets the time of the next.
func (c *Cleaner) begin(a *abandoned, now time.Time) {
	s, doubtful := a.server, a.doubtful()
	s.count(doubtful, 1)
	c.busy++
	a.running++
	a.tried, a.due = true, now.Add(c.gap(a))
	a.file()
	go func() { // ends: free is bounded
		err := c.free(c.ctx, a.key, a.token)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.busy--
		s.count(doubtful, -1)
		c.tried(a, err)
		c.letGo(s)
		c.dispatch()
	}()
}

// giveUp ends the tries for a key whose lease is over.
func (c *Cleaner) giveUp(a *abandoned) {
	c.forget(a)
	if a.answered {
		return
	}
	c.unfreed = append(c.unfreed, a.key)
	if !c.reports {
		c.reports = true
		c.busy++ // Close waits until all are counted
		go c.report()
	}
}

// report calls notFreed for each key that was given up, without mu: notFreed may be slow.
func (c *Cleaner) report() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.unfreed) > 0 {
		keys := c.unfreed
		c.unfreed = nil
		c.mu.Unlock()
		for _, key := range keys {
			c.notFreed(key)
		}
		c.mu.Lock()
	}
	c.reports = false
	c.busy--
	c.finish()
}

// gap is the pause before the next try.
func (c *Cleaner) gap(a *abandoned) time.Duration {
	if a.next < len(cleanupGaps) {
		a.next++
		return cleanupGaps[a.next-1]
	}
	return lastGap * time.Duration(1+len(c.all)/cleanupsPerSecond)
}

// tried records the result of a try. The caller must hold mu.
func (c *Cleaner) tried(a *abandoned, err error) {
	a.running--
	if a.over {
		return
	}
	answered := err == nil || errors.Is(err, ErrNotHeld)
	a.answered = a.answered || answered
	switch {
	case err == nil && a.calls == 1:
		c.forget(a)
		return
	case !answered:
		a.silent = true
	case err == nil || a.silent:
		if err == nil {
			a.calls--
		}
		a.silent, a.next = false, 0
		a.due = time.Now().Add(c.gap(a))
	}
	a.file()
}

// forget drops a key, also while a try for it is under way.
func (c *Cleaner) forget(a *abandoned) {
	a.over = true
	delete(c.all, a.owned)
	heap.Remove(&c.ends, a.end)
	a.unfile()
	a.server.keys--
	c.letGo(a.server)
}

// Close goes on with the tries for keys that were abandoned in the last second, until their second is over,
// and drops all other keys. It returns within a second, also while no server answers, and ends the
// tries that are under way then. It returns an error only if ctx ends first. It may be repeated.
func (c *Cleaner) Close(ctx context.Context) error {
	c.mu.Lock()
	if !c.closing {
		c.closing, c.closeBy = true, time.Now().Add(closeWithin)
	}
	for _, a := range c.all {
		a.until = earlier(a.until, a.began.Add(closeWithin))
	}
	heap.Init(&c.ends)
	c.dispatch()
	atLast := time.NewTimer(time.Until(c.closeBy))
	c.mu.Unlock()
	defer atLast.Stop()
	select {
	case <-c.empty:
		return nil
	case <-atLast.C:
		c.mu.Lock()
		defer c.mu.Unlock()
		c.dispatch() // all are over
		c.end()
		return nil
	case <-ctx.Done():
		return fmt.Errorf("abandoned keys: %w", ctx.Err())
	}
}

// finish ends the Cleaner if nothing is left. The caller must hold mu.
func (c *Cleaner) finish() {
	if c.closing && len(c.all) == 0 && c.busy == 0 {
		c.end()
	}
}

func (c *Cleaner) end() {
	if !c.closed {
		c.closed = true
		c.cancel()
		close(c.empty)
	}
}

// earlier returns the earlier of two times. The zero time is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// serverOf returns how the server of a key is found; nil if b has one server.
func serverOf(b Backend) func(key string) string {
	if l, ok := b.(Locator); ok {
		return l.ServerOf
	}
	return nil
}

func (l *Locker) free(ctx context.Context, key, token string) error {
	ctx, cancel := context.WithTimeout(ctx, l.o.Timeout)
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
