package idworker

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/lock"
)

// Snowflake makes ids in the process, about four million a second, under a
// worker number that it leases.
type Snowflake struct {
	locker *lock.Locker
	marks  highWaterMarks
	o      Options
	worker atomic.Pointer[leasedWorker] // nil while there is none

	once   sync.Once
	closed atomic.Bool
	stop   context.CancelFunc
	done   chan struct{}
}

// NewSnowflake leases a worker number. ctx bounds that and nothing else. The
// Locker renews the number; close it after the Snowflake.
//
// Errors: ErrAllTaken, ErrClockBack, and those of the Locker and of Redis.
func NewSnowflake(ctx context.Context, client redis.UniversalClient, locker *lock.Locker, o Options) (*Snowflake, error) {
	o = o.withDefaults()
	w := &Snowflake{locker: locker, marks: highWaterMarks{client, o.Prefix}, o: o, done: make(chan struct{})}
	s, err := w.leaseWorker(ctx)
	if err != nil {
		return nil, err
	}
	w.worker.Store(s)
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	w.stop = stop
	go w.run(run, s)
	return w, nil
}

// Next makes an id. It never waits. It returns ErrLeaseLost when the worker number may be
// another instance's, ErrClockBack after the wall clock was set back, until it has caught
// up, and ErrClosed after Close.
func (w *Snowflake) Next(ctx context.Context) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if w.closed.Load() {
		return 0, ErrClosed
	}
	s := w.worker.Load()
	if s == nil {
		return 0, ErrLeaseLost
	}
	return s.next(w.o)
}

// Number returns the present worker number, or −1 while there is none.
func (w *Snowflake) Number() int64 {
	if s := w.worker.Load(); s != nil && s.lease.Context().Err() == nil {
		return s.number
	}
	return -1
}

// Close releases the worker number, with the moment of its last use. It may be called more than
// once.
func (w *Snowflake) Close(ctx context.Context) (err error) {
	w.once.Do(func() {
		w.closed.Store(true)
		w.stop()
		<-w.done
		if s := w.worker.Swap(nil); s != nil {
			err = w.releaseWorker(ctx, s)
		}
	})
	return err
}

// releaseWorker lowers the mark to what was used, so that the next holder need not
// wait, and only then frees the number. The order matters: no id is allowed from
// here on, so what the node makes now is later than every id that was.
func (w *Snowflake) releaseWorker(ctx context.Context, s *leasedWorker) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.o.Lease)
	defer cancel()
	until := s.until.Swap(0)
	used := min(timestampOf(s.node.Generate()), until)
	err := errors.Join(w.marks.write(ctx, s.number, used, s.lease.Fence()), s.lease.Release(ctx))
	if errors.Is(err, lock.ErrNotHeld) || errors.Is(err, ErrLeaseLost) {
		return nil // the number was lost before, as when Redis lost its data: there is nothing to release
	}
	return err
}

// run moves the mark while the number is held, and leases another when it is lost.
func (w *Snowflake) run(ctx context.Context, s *leasedWorker) {
	defer close(w.done)
	for s != nil {
		w.keep(ctx, s)
		if ctx.Err() != nil {
			return
		}
		w.worker.Store(nil)
		w.o.Logger.Warn("idworker: worker number lost", "number", s.number)
		_ = s.lease.Release(ctx) // harmless if it is another's
		s = w.leaseAnother(ctx)
		w.worker.Store(s)
	}
}

// keep returns when the lease is lost or ctx has ended.
func (w *Snowflake) keep(ctx context.Context, s *leasedWorker) {
	period := w.o.Lease / 3
	t := time.NewTimer(period)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.lease.Context().Done():
			return
		case <-t.C:
		}
		call, cancel := context.WithTimeout(ctx, period)
		err := w.mark(call, s)
		cancel()
		switch {
		case err == nil:
			t.Reset(period)
		case errors.Is(err, ErrLeaseLost):
			return
		default:
			w.o.Logger.Debug("idworker: cannot move the mark, trying again", "err", err)
			t.Reset(period / 8)
		}
	}
}

// leaseAnother tries, less and less often, until it has leased a number. It returns nil only
// when ctx has ended.
func (w *Snowflake) leaseAnother(ctx context.Context) *leasedWorker {
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		s, err := w.leaseWorker(ctx)
		if err == nil {
			w.o.Logger.Info("idworker: worker number leased", "number", s.number)
			return s
		}
		w.o.Logger.Debug("idworker: no worker number yet, trying again", "err", err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}
