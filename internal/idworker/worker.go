package idworker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bwmarrin/snowflake"

	"example.com/seckill/internal/lock"
)

// setEpoch sets the epoch of the library, which has one for the whole process. The layout is
// its default: 41 bits of time, 10 of the worker, 12 of the count.
var setEpoch = sync.OnceFunc(func() { snowflake.Epoch = Epoch.UnixMilli() })

// leasedWorker is one worker number while it is leased.
type leasedWorker struct {
	number int64
	lease  *lock.Lease
	node   *snowflake.Node
	from   int64        // the moment after which ids may be made, in ms since 1970
	until  atomic.Int64 // the mark: the last one in which they may
	last   atomic.Int64 // the last one in which one was
}

// timestampOf returns when an id was made, in ms since 1970. The library's own function reads
// variables that every new node writes.
func timestampOf(id snowflake.ID) int64 { return id.Int64()>>22 + Epoch.UnixMilli() }

// leaseWorker leases any free number and waits until its clock is past the number's mark. It
// begins at a random number, so that instances that start together seldom collide.
func (w *Snowflake) leaseWorker(ctx context.Context) (*leasedWorker, error) {
	first := rand.Int64N(Numbers) //nolint:gosec // not a secret
	for i := range int64(Numbers) {
		number := (first + i) % Numbers
		lease, err := w.locker.Acquire(ctx, fmt.Sprintf("worker:%d", number),
			lock.WithLease(w.o.Lease), lock.WithWait(0))
		if errors.Is(err, lock.ErrNotAcquired) && ctx.Err() == nil {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("idworker: lease worker number %d: %w", number, err)
		}
		s := &leasedWorker{number: number, lease: lease}
		if err := w.waitPastMark(ctx, s); err != nil {
			_ = lease.Release(ctx) // if not, it runs out
			return nil, err
		}
		return s, nil
	}
	return nil, fmt.Errorf("%w: %d of %d", ErrAllTaken, Numbers, Numbers)
}

// waitPastMark waits until the clock is past the mark of the former holder, for half a lease at the
// most: if it is further behind, that is ErrClockBack. Then it writes a mark of its own, before any
// id is made.
func (w *Snowflake) waitPastMark(ctx context.Context, s *leasedWorker) (err error) {
	if s.from, err = w.marks.read(ctx, s.number); err != nil {
		return err
	}
	for {
		behind := time.Duration(s.from-w.o.Now().UnixMilli()+1) * time.Millisecond
		if behind <= 0 {
			break
		}
		if behind > w.o.Lease/2 {
			return fmt.Errorf("%w: %v behind the last use of worker number %d", ErrClockBack, behind, s.number)
		}
		select {
		case <-time.After(behind):
		case <-ctx.Done():
			return fmt.Errorf("idworker: wait for the clock: %w", context.Cause(ctx))
		case <-s.lease.Context().Done():
			return ErrLeaseLost
		}
	}
	setEpoch()
	if s.node, err = snowflake.NewNode(s.number); err != nil {
		return fmt.Errorf("idworker: %w", err)
	}
	s.last.Store(s.from)
	return w.mark(ctx, s)
}

// mark moves the mark one lease ahead: further than that no id is made.
func (w *Snowflake) mark(ctx context.Context, s *leasedWorker) error {
	until := max(w.o.Now().UnixMilli(), s.last.Load()) + w.o.Lease.Milliseconds()
	if err := w.marks.write(ctx, s.number, until, s.lease.Fence()); err != nil {
		return err
	}
	s.until.Store(until)
	return nil
}

// next makes one id and checks only then whether that was allowed: if the lease is held and the
// clock is right after the id was made, they were when it was made.
//
// The library reckons with the monotonic clock from the moment the node was
// made. So its ids never go back, but neither do they follow a wall clock that
// was set back, and another holder's wall clock would come upon them again.
// Hence the comparison with the wall clock here.
func (s *leasedWorker) next(o Options) (int64, error) {
	id := s.node.Generate()
	ms := timestampOf(id)
	switch wall := o.Now().UnixMilli(); {
	case s.lease.Context().Err() != nil:
		return 0, ErrLeaseLost
	case wall < ms-tolerance.Milliseconds():
		return 0, fmt.Errorf("%w by %d ms", ErrClockBack, ms-wall)
	case ms <= s.from:
		return 0, fmt.Errorf("%w: worker number %d was used later than now", ErrClockBack, s.number)
	case ms > s.until.Load():
		return 0, fmt.Errorf("%w: past its mark", ErrLeaseLost)
	}
	for {
		last := s.last.Load()
		if ms <= last || s.last.CompareAndSwap(last, ms) {
			return id.Int64(), nil
		}
	}
}
