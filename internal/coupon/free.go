package coupon

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// Retention is how long after its end a coupon's shards are kept. By then every hold has
	// ended, and hardly any buyer asks about the sale any more.
	Retention = 24 * time.Hour
	// maxFreedPerPass bounds one pass.
	maxFreedPerPass = 100
)

// Free drops the shards of the coupons that ended more than Retention ago, and returns of how
// many coupons:
//
//	a newer epoch in the database ─▶ drop the shards of older ones ─▶ note that there are none
//
// The database alone counts the units of an ended sale. If an administrator moves the end of
// such a coupon meanwhile, RunRestorer loads the new epoch, which is not dropped. Free may
// be cut off anywhere, and may run on several instances at once.
func (s *Service) Free(ctx context.Context) (freed int, failed error) {
	now := s.now()
	spent, err := s.loader.Freeable(ctx, now, maxFreedPerPass)
	if err != nil {
		return 0, err
	}
	if len(spent) > 0 {
		if err := s.Heartbeat(ctx); err != nil { // this Redis may have become another database's
			return 0, err
		}
	}
	for _, c := range spent {
		if ctx.Err() != nil {
			break
		}
		done, err := s.free(ctx, c.ID, now)
		if done {
			freed++
		}
		if err != nil && !errors.Is(err, ErrConflict) { // an administrator has just changed it
			failed = fmt.Errorf("free the shards of coupon %d: %w", c.ID, err)
		}
	}
	return freed, errors.Join(failed, ctx.Err())
}

func (s *Service) free(ctx context.Context, id int64, now time.Time) (bool, error) {
	c, err := s.repo.Change(ctx, id, func(c *Coupon) error {
		switch {
		case c.State == Ended && now.Before(c.EndsAt): // by a program that did not move the end
			c.end(now)
		case c.EndsAt.After(now.Add(-Retention)):
			return fmt.Errorf("%w: it has not ended so long ago", ErrConflict)
		default:
			c.endEpoch(now)
		}
		return nil
	})
	if err != nil || c.EndsAt.After(now.Add(-Retention)) {
		return false, err
	}
	if _, err := s.shards.Free(ctx, id, c.Epoch); err != nil {
		return false, err
	}
	_, err = s.repo.Change(ctx, id, func(of *Coupon) error {
		if of.Epoch != c.Epoch {
			return fmt.Errorf("%w: it was loaded again", ErrConflict)
		}
		of.Shards, of.Loading, of.Opening = 0, false, false // there is nothing to go on with
		return nil
	})
	if err != nil {
		return false, err
	}
	s.changed(ctx, id)
	return true, nil
}

// dropLate drops what a loading has filled whose coupon was freed meanwhile: no other
// would ever look for those shards. A loader that dies before that leaves them until the
// coupon is published again.
func (s *Service) dropLate(ctx context.Context, l Load, why error) error {
	if !errors.Is(why, ErrConflict) {
		return nil
	}
	found, err := s.repo.Find(ctx, l.CouponID)
	if err != nil || len(found) == 0 {
		return err
	}
	if c := found[0]; c.Epoch <= l.Epoch || c.EndsAt.After(s.now().Add(-Retention)) {
		return nil
	}
	_, err = s.shards.Free(ctx, l.CouponID, l.Epoch)
	return err
}
