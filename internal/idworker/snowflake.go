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

// Snowflake makes ids in the process, about four million per second. The ids have a worker number that Snowflake
// leases.
type Snowflake struct {
	locker *lock.Locker
	marks  highWaterMarks
	o      Options
	worker atomic.Pointer[leasedWorker] // nil while no number is leased

	once   sync.Once
	closed atomic.Bool
	stop   context.CancelFunc
	done   chan struct{}
}

// NewSnowflake leases a worker number. ctx bounds the lease call and nothing else. The Locker renews the lease. Close
// the Locker after the Snowflake.
//
// NewSnowflake returns ErrAllTaken, ErrClockBack, or an error of the Locker or of Redis.
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

// Next makes an id. It never waits. If another instance may have the worker number, Next returns ErrLeaseLost. If the
// wall clock was set back, Next returns ErrClockBack until the clock has caught up. After Close it returns ErrClosed.
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

// Number returns the present worker number, or −1 while no number is leased.
func (w *Snowflake) Number() int64 {
	if s := w.worker.Load(); s != nil && s.lease.Context().Err() == nil {
		return s.number
	}
	return -1
}

// Close releases the worker number and records the moment of its last use. You may call it more than once.
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

// releaseWorker lowers the mark to the last moment in use, so that the next holder need not wait. Only then does it
// free the number. The order of the statements matters. First it ends the time in which Next may make ids. So the id
// that the node makes afterwards is later than every id that Next has returned.
func (w *Snowflake) releaseWorker(ctx context.Context, s *leasedWorker) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.o.Lease)
	defer cancel()
	until := s.until.Swap(0)
	used := min(timestampOf(s.node.Generate()), until)
	err := errors.Join(w.marks.write(ctx, s.number, used, s.lease.Fence()), s.lease.Release(ctx))
	if errors.Is(err, lock.ErrNotHeld) || errors.Is(err, ErrLeaseLost) {
		return nil // the number was lost before, for example because Redis lost its data: there is nothing to release
	}
	return err
}

// run moves the mark while the number is held. If the number is lost, run leases another.
func (w *Snowflake) run(ctx context.Context, s *leasedWorker) {
	defer close(w.done)
	for s != nil {
		w.keep(ctx, s)
		if ctx.Err() != nil {
			return
		}
		w.worker.Store(nil)
		w.o.Logger.Warn("idworker: worker number lost", "number", s.number)
		_ = s.lease.Release(ctx) // harmless if another instance has the number
		s = w.leaseAnother(ctx)
		w.worker.Store(s)
	}
}

// keep moves the mark of the number until the lease is lost or ctx has ended.
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

// leaseAnother tries to lease a number until it succeeds, with growing pauses. It returns nil only when ctx has ended.
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
