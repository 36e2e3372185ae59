package lock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Locker acquires, renews and releases leases of one Backend. It is safe for
// use by many goroutines and should be shared by a process: the local queue
// only joins callers of the same Locker.
type Locker struct {
	backend Backend
	o       Options
	queue   *queue
	renewer *renewer
	cleaner *Cleaner

	mu      sync.Mutex
	closed  bool
	closing chan struct{}  // closed by Close
	calls   sync.WaitGroup // acquisitions and renewals under way
}

// New returns a Locker. It fails if a lease is under 1 ms or a wait negative.
func New(b Backend, o Options) (*Locker, error) {
	if b == nil {
		return nil, errors.New("lock: no backend")
	}
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	l := &Locker{
		backend: b,
		o:       o,
		queue:   newQueue(),
		closing: make(chan struct{}),
	}
	l.renewer, l.cleaner = newRenewer(l), NewCleaner(l.free, l.notFreed, serverOf(b))
	return l, nil
}

// Raise lifts the fence counter of key above one that the database has seen, so
// that the next holder is not refused as stale. It answers errors.ErrUnsupported
// if the backend cannot.
func (l *Locker) Raise(ctx context.Context, key string, above uint64) error {
	r, ok := l.backend.(Raiser)
	if !ok {
		return fmt.Errorf("lock: raise the fence of %q: %w", key, errors.ErrUnsupported)
	}
	ctx, cancel := context.WithTimeout(ctx, l.o.Timeout)
	defer cancel()
	if err := r.Raise(ctx, key, above); err != nil {
		return unavailable("raise the fence of", key, err)
	}
	return nil
}

// Close ends everything: waiters get ErrClosed, and the contexts of holders end
// with that cause. Nothing is renewed from here on, and nothing is freed under
// a holder that is still at work: Close waits until every holder has released
// or its lease has run out, and then a second at most for keys that were abandoned. It returns
// ctx's error if ctx ends first. Releases go on working after Close. It may be repeated.
func (l *Locker) Close(ctx context.Context) error {
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		close(l.closing)
	}
	l.mu.Unlock()

	err := l.renewer.close(ctx)
	quiet := make(chan struct{})
	go func() { l.calls.Wait(); l.renewer.reports.Wait(); close(quiet) }() // ends: every call has a timeout
	select {
	case <-quiet:
		err = errors.Join(err, l.cleaner.Close(ctx))
	case <-ctx.Done():
		err = errors.Join(err, ctx.Err())
	}
	if err != nil {
		return fmt.Errorf("lock: close: %w", err)
	}
	return nil
}

// begin counts one acquisition, unless the Locker is closed.
func (l *Locker) begin() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.calls.Add(1)
	return true
}

func (l *Locker) isClosed() bool {
	select {
	case <-l.closing:
		return true
	default:
		return false
	}
}

// callTimeout is the time one call about a lease may take: an answer that comes
// after the lease is worth nothing.
func (l *Locker) callTimeout(lease time.Duration) time.Duration { return min(l.o.Timeout, lease) }

func unavailable(doing, key string, err error) error {
	return fmt.Errorf("%w: %s %q: %w", ErrUnavailable, doing, key, err)
}
