package order

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/lock"
)

// Reconciler ends everything that a request, or an instance that died, has left open. Everything it
// does may run on several instances at once and may be cut off anywhere.
type Reconciler struct {
	shards Shards
	db     Database
	locker Locker
	sales  Sales
	now    func() time.Time
	log    *slog.Logger
}

// ReconcilerDeps are the dependencies of a Reconciler.
type ReconcilerDeps struct {
	Shards Shards
	DB     Database
	Locker Locker
	Sales  Sales
	Now    func() time.Time // nil is time.Now
	Log    *slog.Logger     // nil is slog.Default
}

// NewReconciler returns a Reconciler.
func NewReconciler(p ReconcilerDeps) *Reconciler {
	if p.Now == nil {
		p.Now = time.Now
	}
	if p.Log == nil {
		p.Log = slog.Default()
	}
	return &Reconciler{shards: p.Shards, db: p.DB, locker: p.Locker, sales: p.Sales, now: p.Now, log: p.Log}
}

// passSize bounds one pass, so that a long backlog does not delay the other jobs.
const passSize = 500

// maxDBFailures is how often a pass may find the database unavailable before it gives up:
// each time may cost a whole timeout, and the next pass comes soon. An unavailable shard
// does not count, because the holds of the others can be reconciled meanwhile.
const maxDBFailures = 3

// errDatabase marks the errors of an unavailable database.
var errDatabase = errors.New("order: database unavailable")

func ofDatabase(err error) error {
	if errors.Is(err, ErrUnavailable) || errors.Is(err, ErrCommitUnknown) {
		return fmt.Errorf("%w: %w", errDatabase, err)
	}
	return err
}

// dbFailures counts how often a pass has found the database unavailable.
type dbFailures int

// tooMany counts err if it is one of them, and reports whether the pass should give up.
func (n *dbFailures) tooMany(err error) bool {
	if errors.Is(err, errDatabase) {
		*n++
	}
	return *n >= maxDBFailures
}

// Reconcile ends the coupon's holds that are older than age, and returns how many. A hold
// whose user has a request in progress is left for the next pass.
func (s *Reconciler) Reconcile(ctx context.Context, c coupon.Coupon, age time.Duration) (int, error) {
	shards, errs := s.shards.OldShards(ctx, []coupon.Coupon{c}, age)
	var failures dbFailures
	done, err := s.reconcileShards(ctx, c, shards[0], age, &failures)
	if err == nil {
		err = errs[0]
	}
	return done, err
}

// reconcileShards ends up to passSize old holds of these shards.
func (s *Reconciler) reconcileShards(
	ctx context.Context, c coupon.Coupon, shards []int, age time.Duration, failures *dbFailures,
) (done int, failed error) {
	for _, shard := range shards {
		n, err := s.reconcileShard(ctx, c, shard, age, passSize-done, failures)
		done += n
		if err != nil {
			failed = err
		}
		if done == passSize || failures.tooMany(nil) || ctx.Err() != nil {
			break
		}
	}
	return done, failed
}

// reconcileRound is how far the rounds over all coupons have come. A pass goes on behind the last coupon of the pass
// before, so that a pass that is cut off starves no coupon.
type reconcileRound struct {
	number int
	after  int64 // the last coupon
}

// A sale that ended lateAfter ago has nothing open any more but what a long outage has
// left: its holds are read in only one of lateEvery rounds.
const (
	lateAfter = 10 * time.Minute
	lateEvery = 60
)

// groupShards is how many shards are looked at together for old holds, in one round trip as a rule. passShards is how
// many a pass looks at: each instance may run a pass at each tick, and most shards have no hold.
const (
	groupShards = 256
	passShards  = 4096
)

// reconcileNext reconciles the next coupons of the round. The list is ordered by id.
func (s *Reconciler) reconcileNext(ctx context.Context, all []coupon.Coupon, age time.Duration, r *reconcileRound) (done int, _ error) {
	late := r.number%lateEvery == 0
	rest := slices.DeleteFunc(slices.Clone(all), func(c coupon.Coupon) bool {
		return c.ID <= r.after || !late && s.now().Sub(c.EndsAt) > lateAfter
	})
	var failed fewErrors
	var failures dbFailures
	for looked := 0; len(rest) > 0; {
		group := firstShards(rest, groupShards)
		rest = rest[len(group):]
		shards, errs := s.shards.OldShards(ctx, group, age)
		for i, c := range group {
			n, err := s.reconcileShards(ctx, c, shards[i], age, &failures)
			done += n
			for _, err := range []error{errs[i], err} {
				if !errors.Is(err, coupon.ErrNotLoaded) {
					failed.add(err)
				}
			}
			r.after, looked = c.ID, looked+c.Shards
			if failures.tooMany(nil) || ctx.Err() != nil {
				return done, failed.join()
			}
		}
		if looked >= passShards {
			return done, failed.join()
		}
	}
	r.after, r.number = 0, r.number+1
	return done, failed.join()
}

// firstShards returns the first coupons, one at least, that have up to most shards.
func firstShards(all []coupon.Coupon, most int) []coupon.Coupon {
	n, shards := 1, all[0].Shards
	for n < len(all) && shards+all[n].Shards <= most {
		shards += all[n].Shards
		n++
	}
	return all[:n]
}

// fewErrors keeps the first errors and counts the others, so that a warning of a pass stays short.
type fewErrors struct {
	first []error
	more  int
}

// mostErrors is how many errors a warning has.
const mostErrors = 3

func (f *fewErrors) add(err error) {
	switch {
	case err == nil:
	case len(f.first) < mostErrors:
		f.first = append(f.first, err)
	default:
		f.more++
	}
}

func (f *fewErrors) join() error {
	if f.more > 0 {
		return errors.Join(append(f.first, fmt.Errorf("and %d more errors", f.more))...)
	}
	return errors.Join(f.first...)
}

// reconcilePage is how many old holds are read at a time.
const reconcilePage = 100

// reconcileShard ends up to most holds of a shard. It passes over those that cannot be ended
// now, so that they do not delay the ones behind them.
func (s *Reconciler) reconcileShard(
	ctx context.Context, c coupon.Coupon, shard int, age time.Duration, most int, failures *dbFailures,
) (done int, failed error) {
	for skip := 0; ; {
		old, err := s.shards.OldHolds(ctx, c, shard, age, skip, reconcilePage)
		if err != nil {
			return done, err
		}
		if len(old) == 0 {
			return done, failed
		}
		for _, h := range old {
			if done == most || ctx.Err() != nil {
				return done, failed
			}
			err := s.locker.Do(ctx, lock.UserKey(h.UserID), func(ctx context.Context, _ *lock.Lease) error {
				return s.reconcileHold(ctx, h)
			})
			if err == nil {
				done++
				continue
			}
			skip++
			if !errors.Is(err, lock.ErrNotAcquired) {
				failed = fmt.Errorf("reconcile the hold of order %d: %w", h.OrderID, err)
			}
			if failures.tooMany(err) {
				return done, failed
			}
		}
	}
}

// reconcileHold ends a hold as the database decides. Writing a void order is both the question
// and the decision: once it is in, no attempt of the request can commit any more.
func (s *Reconciler) reconcileHold(ctx context.Context, h Hold) error {
	// Attempt 0 ends the hold for every attempt of its request.
	h.Attempt = 0
	err := s.db.Void(ctx, Order{
		ID: h.OrderID, CouponID: h.CouponID, UserID: h.UserID, Status: Void,
		RequestID: h.RequestID, Shard: h.Shard, CreatedAt: s.now(), ExpiresAt: s.now(),
	})
	if err == nil {
		return s.shards.Release(ctx, []Hold{h})[0]
	}
	if !errors.Is(err, ErrDuplicate) {
		return ofDatabase(err)
	}
	o, err := s.db.ByRequest(ctx, h.RequestID, h.UserID)
	switch {
	case err == nil && o.Status != Void && o.ID == h.OrderID:
		return s.shards.Confirm(ctx, []Hold{h})[0]
	// If it is not found, the duplicate is of the id, and the order can never be inserted.
	case err != nil && !errors.Is(err, ErrNotFound):
		return ofDatabase(err)
	}
	return s.shards.Release(ctx, []Hold{h})[0]
}
