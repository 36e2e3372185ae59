package order

import (
	"context"
	"errors"
	"time"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/lock"
)

// Schedule configures the background jobs of an instance.
type Schedule struct {
	Every          time.Duration // between two passes
	ReconcileAfter time.Duration // the age from which a hold is taken for abandoned
	// Loaded lists the coupons that have, or had, stock in Redis.
	Loaded func(ctx context.Context) ([]coupon.Coupon, error)
	// OnPass is called after each pass that did or failed something. It may be nil.
	OnPass func(job string, n int, err error)
}

// Run runs the background jobs until ctx ends. It runs on every instance. All of them may
// expire orders at once; every other job runs on one of them at a time, and if that one
// dies, on another one once its lease has expired.
func (s *Reconciler) Run(ctx context.Context, w Schedule) {
	tick := time.NewTicker(w.Every)
	defer tick.Stop()
	for pass := 0; ; pass++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		s.runPass(ctx, w, "expire", s.Expire)
		s.runExclusive(ctx, w, "relay", s.Relay)
		s.runExclusive(ctx, w, "reconcile", func(ctx context.Context) (int, error) {
			loaded, failed := w.Loaded(ctx)
			done := 0
			for _, c := range loaded {
				if pass%lateEvery != 0 && s.now().Sub(c.EndsAt) > lateAfter {
					continue
				}
				n, err := s.Reconcile(ctx, c, w.ReconcileAfter)
				done += n
				if err != nil && !errors.Is(err, coupon.ErrNotLoaded) {
					failed = errors.Join(failed, err)
				}
			}
			return done, failed
		})
	}
}

// A sale that ended lateAfter ago has nothing open any more but what a long outage has
// left: its holds are read in only one of lateEvery passes.
const (
	lateAfter = 10 * time.Minute
	lateEvery = 60
)

// passTimeout bounds one pass of a job, and so how long a slow server delays the other jobs.
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
		s.log.WarnContext(ctx, "background job failed", "job", job, "error", err)
	}
	if w.OnPass != nil && (done > 0 || err != nil) {
		w.OnPass(job, done, err)
	}
}
