package lock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// MaxKey is the most bytes that a key may have, on every backend. A row of a database
// has room for as many, and for what a backend puts before them.
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
	// Wait is how long Acquire waits for a key that another has. Zero means not
	// at all: one try. It bounds the waiting and not a call to the server, which may be
	// under way when it ends: that has Timeout.
	Wait time.Duration
	// Poll is the longest sleep between two tries of a waiter. Default 250 ms.
	Poll time.Duration
	// Timeout bounds every call to the server. Default 1 s, and never more than
	// the lease.
	Timeout time.Duration
	// Hooks are called for metrics.
	Hooks Hooks
	// Logger hears of lost leases and failed releases. Default slog.Default().
	Logger *slog.Logger
}

// Hooks are functions called for metrics. Each may be nil. They are called in
// the path of the lock and must not block.
type Hooks struct {
	Waited        func(d time.Duration) // how long one Acquire took, whatever came of it
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

// request is one acquisition as asked for.
type request struct {
	key         string
	lease, wait time.Duration
	parent      context.Context // from which the context of the lease is made
}

// newRequest returns the request for a key. The error says what is wrong with the key or the options.
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

// margin is what a lease is cut short by locally, so that its holder hears of
// the end before the server lets another in: a tenth, at least 5 ms, at most
// one second, and never more than half.
func margin(lease time.Duration) time.Duration {
	return min(max(lease/10, 5*time.Millisecond), time.Second, lease/2)
}
