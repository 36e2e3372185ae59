package lock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Locker acquires, renews and releases leases of one Backend. It is safe for use by many
// goroutines. Share one Locker in a process: the local queue only joins callers of the same Locker.
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

// New returns a Locker. It fails if b is nil, if the lease is under 1 ms, or if another duration is
// negative.
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

// AdvanceFence lifts the fence counter of key above a fence that the database has seen, so that the
// database does not reject the next holder as stale. It returns errors.ErrUnsupported if the
// backend cannot raise fences.
func (l *Locker) AdvanceFence(ctx context.Context, key string, above uint64) error {
	r, ok := l.backend.(FenceAdvancer)
	if !ok {
		return fmt.Errorf("lock: raise the fence of %q: %w", key, errors.ErrUnsupported)
	}
	ctx, cancel := context.WithTimeout(ctx, l.o.Timeout)
	defer cancel()
	if err := r.AdvanceFence(ctx, key, above); err != nil {
		return unavailable("raise the fence of", key, err)
	}
	return nil
}

// Close ends everything. Waiters get ErrClosed, and the contexts of holders end with that cause.
// From here on the Locker renews nothing, and it frees nothing under a holder that is still at
// work. Close waits until every holder has released or its lease has run out. Then it waits for
// abandoned keys, a second at most.
//
// Close returns ctx's error if ctx ends first. Releases go on working after Close. Close may be
// repeated.
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

// callTimeout returns the time that one call about a lease may take. An answer that comes after the
// lease is worth nothing.
func (l *Locker) callTimeout(lease time.Duration) time.Duration { return min(l.o.Timeout, lease) }

func unavailable(doing, key string, err error) error {
	return fmt.Errorf("%w: %s %q: %w", ErrUnavailable, doing, key, err)
}

// UserKeyPrefix begins the key of every user's lock.
const UserKeyPrefix = "user:"

// UserKey returns the key of the lock under which the orders of a user are made.
func UserKey(id int64) string { return UserKeyPrefix + strconv.FormatInt(id, 10) }

// UserOf returns the id of the user whose lock the key names, and reports whether it
// names one.
func UserOf(key string) (id uint64, ok bool) {
	digits, ok := strings.CutPrefix(key, UserKeyPrefix)
	if !ok {
		return 0, false
	}
	id, err := strconv.ParseUint(digits, 10, 64)
	return id, err == nil
}

// MaxKey is the limit of a key in bytes, on every backend. A row of a database has room for a key
// of this length and for the prefix that a backend adds.
const MaxKey = 200

const (
	minLease       = time.Millisecond
	defaultPoll    = 250 * time.Millisecond
	defaultTimeout = time.Second
)

// Options are the settings of a Locker.
type Options struct {
	// Lease is how long a lock is held without renewal. At least 1 ms.
	Lease time.Duration
	// Wait is how long Acquire waits for a key that another holder has. Zero means not at all: one
	// try. Wait bounds the waiting and not a call to the server. Timeout bounds a call that is in
	// progress when the wait ends.
	Wait time.Duration
	// Poll is the longest sleep between two tries of a waiter. Default 250 ms.
	Poll time.Duration
	// Timeout bounds every call to the server. Default 1 s, and never more than
	// the lease.
	Timeout time.Duration
	// Hooks are called for metrics.
	Hooks Hooks
	// Logger records lost leases and failed releases. Default slog.Default().
	Logger *slog.Logger
}

// Hooks are functions called for metrics. Each may be nil. They are called in
// the path of the lock and must not block.
type Hooks struct {
	Waited        func(d time.Duration) // how long one Acquire took, with any result
	Tried         func(n int)           // how often one Acquire asked the server
	Held          func(d time.Duration) // from the grant to the release
	Renewed       func()                // a lease was renewed
	Lost          func()                // a lease was lost while held
	ReleaseFailed func(err error)       // a release got no usable answer
	NotFreed      func()                // an abandoned key could not be freed before its lease was over
}

func (o Options) withDefaults() (Options, error) {
	if err := (request{lease: o.Lease, wait: o.Wait}).check(); err != nil {
		return o, err
	}
	if o.Poll < 0 || o.Timeout < 0 {
		return o, errors.New("lock: Poll and Timeout must not be negative")
	}
	o.Poll = cmp.Or(o.Poll, defaultPoll)
	o.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	o.Logger = cmp.Or(o.Logger, slog.Default())
	return o, nil
}

// Option changes one acquisition.
type Option func(*request)

// WithWait overrides Options.Wait. Zero means one try.
func WithWait(d time.Duration) Option { return func(r *request) { r.wait = d } }

// WithLease overrides Options.Lease. At least 1 ms.
func WithLease(d time.Duration) Option { return func(r *request) { r.lease = d } }

// request describes one acquisition.
type request struct {
	key         string
	lease, wait time.Duration
	parent      context.Context // from which the context of the lease is made
}

// newRequest returns the request for a key. It returns an error if the key or an option is invalid.
func (l *Locker) newRequest(parent context.Context, key string, opts []Option) (request, error) {
	r := request{key: key, lease: l.o.Lease, wait: l.o.Wait, parent: parent}
	for _, opt := range opts {
		opt(&r)
	}
	if err := r.check(); err != nil {
		return r, err
	}
	return r, CheckKey(key)
}

func (r request) check() error {
	if r.lease < minLease {
		return fmt.Errorf("lock: lease %v is shorter than %v", r.lease, minLease)
	}
	if r.wait < 0 {
		return fmt.Errorf("lock: wait %v is negative", r.wait)
	}
	return nil
}

// margin returns the time by which a lease is cut short locally. So its holder hears of the end
// before the server lets another in. The margin is a tenth of the lease, at least 5 ms, at most one
// second, and never more than half of the lease.
func margin(lease time.Duration) time.Duration {
	return min(max(lease/10, 5*time.Millisecond), time.Second, lease/2)
}
