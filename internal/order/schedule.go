package order

import (
	"context"
	"errors"
	"sync"
	"time"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/lock"
)

// Schedule configures the background jobs of an instance.
type Schedule struct {
	Every          time.Duration // between two passes
	ReconcileAfter time.Duration // the age from which a hold is taken for abandoned
	// Loaded lists the coupons that have, or had, stock in Redis, by id.
	Loaded func(ctx context.Context) ([]coupon.Coupon, error)
	// OnPass is called after each pass that did or failed something, by several goroutines. It may be nil.
	OnPass func(job string, n int, err error)
}

// Run runs the background jobs until ctx ends, each in a goroutine of its own. It runs on every instance. All of them
// may expire orders at once; every other job runs on one of them at a time, and if that one
// dies, on another one once its lease has expired.
func (s *Reconciler) Run(ctx context.Context, w Schedule) {
	var running sync.WaitGroup
	defer running.Wait()
	each := func(pass func()) { running.Go(func() { atEachTick(ctx, w.Every, pass) }) }
	each(func() { s.runPass(ctx, w, "expire", s.Expire) })
	each(func() { s.runExclusive(ctx, w, "relay", s.Relay) })
	var round reconcileRound
	each(func() {
		s.runExclusive(ctx, w, "reconcile", func(ctx context.Context) (int, error) {
			loaded, err := w.Loaded(ctx)
			if err != nil {
				return 0, err
			}
			return s.reconcileNext(ctx, loaded, w.ReconcileAfter, &round)
		})
	})
}

// atEachTick calls pass at each tick of the interval until ctx ends. A tick that pass outlasts is left out.
func atEachTick(ctx context.Context, interval time.Duration, pass func()) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		pass()
	}
}

// passTimeout bounds one pass of a job. Another instance may run the next pass.
const passTimeout = 10 * time.Second

// runExclusive runs one pass of a job, unless another instance is running one.
func (s *Reconciler) runExclusive(ctx context.Context, w Schedule, job string, do func(context.Context) (int, error)) {
	s.runPass(ctx, w, job, func(ctx context.Context) (done int, err error) {
		err = s.locker.Do(ctx, "job:"+job, func(ctx context.Context, _ *lock.Lease) (err error) {
			done, err = do(ctx)
			return err
		}, lock.WithWait(0))
		return done, err
	})
}

// runPass runs one pass of a job and reports it to OnPass, unless another instance was running
// one.
func (s *Reconciler) runPass(ctx context.Context, w Schedule, job string, do func(context.Context) (int, error)) {
	within, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	done, err := do(within)
	if errors.Is(err, lock.ErrNotAcquired) || ctx.Err() != nil {
		return
	}
	if err != nil {
		s.log.WarnContext(ctx, "background task failed", "task", job, "error", err)
	}
	if w.OnPass != nil && (done > 0 || err != nil) {
		w.OnPass(job, done, err)
	}
}
