package main

import (
	"context"
	"log/slog"
	"time"

	"example.com/seckill/internal/lock"
)

// Every lock gets the same: a lease that no run outlasts, and a wait that ends a run
// which got stuck.
const (
	lease = 10 * time.Second
	wait  = time.Minute
)

// candidate is one lock in the comparison.
type candidate struct {
	name    string
	note    string // how it is set, where that is a choice
	durable bool   // its server answers a write when it is on disk, so it is slow
	redis   bool   // the targets are for this one
	open    func(ctx context.Context) (*process, error)
	raw     func(ctx context.Context) error          // two round trips to the same server
	trip    func(ctx context.Context) error          // one; nil if it is not measured by itself
	sent    func(ctx context.Context) (int64, error) // commands the server was sent until now
	own     int64                                    // of these, what reading them twice adds
	close   func() error
}

// process is what one process has: connections, and a way to lock for each worker.
type process struct {
	// worker returns the lock function of one goroutine, which returns a release function.
	worker func(ctx context.Context) (acquire, error)
	close  func() error
}

type (
	acquire func(ctx context.Context, key string) (release, error)
	release func(ctx context.Context) error
)

// shared is a worker function for locks that all goroutines of a process share.
func shared(a acquire) func(context.Context) (acquire, error) {
	return func(context.Context) (acquire, error) { return a, nil }
}

// ours puts a backend of this program behind a Locker.
func ours(b lock.Backend, closeBackend func() error) (*process, error) {
	l, err := lock.New(b, lock.Options{Lease: lease, Wait: wait, Timeout: 5 * time.Second, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	return &process{
		worker: shared(func(ctx context.Context, key string) (release, error) {
			held, err := l.Acquire(ctx, key)
			if err != nil {
				return nil, err
			}
			return held.Release, nil
		}),
		close: func() error {
			ctx, cancel := context.WithTimeout(context.Background(), wait)
			defer cancel()
			err := l.Close(ctx)
			if e := closeBackend(); err == nil {
				err = e
			}
			return err
		},
	}, nil
}

func nothing() error { return nil }
