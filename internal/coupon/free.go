package coupon

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// Retention is the time from the end of a sale to the freeing of its shards. After this time every hold has
	// ended, and hardly any buyer asks about the sale any more.
	Retention = 24 * time.Hour
	// maxFreedPerPass is the limit on the coupons of one pass.
	maxFreedPerPass = 100
)

// Free drops the shards of the coupons that ended more than Retention ago, and returns the number of these coupons:
//
//	a newer epoch in the database ─▶ drop the shards of older ones ─▶ note that there are none
//
// For an ended sale only the database counts the units. If an administrator moves the end of the coupon meanwhile,
// RunRestorer loads the new epoch, and Free does not drop this epoch. Free may be cut off at any point, and may run on
// several instances at once.
func (s *Service) Free(ctx context.Context) (freed int, failed error) {
	now := s.now()
	spent, err := s.loader.Freeable(ctx, now, maxFreedPerPass)
	if err != nil {
		return 0, err
	}
	if len(spent) > 0 {
		if err := s.Heartbeat(ctx); err != nil { // another database may use this Redis
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
		case c.State == Ended && now.Before(c.EndsAt): // a program ended it without moving the end
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
		of.Shards, of.Loading, of.Opening = 0, false, false // there is no loading to continue
		return nil
	})
	if err != nil {
		return false, err
	}
	s.changed(ctx, id)
	return true, nil
}

// dropLate drops the shards that a loading has filled if the coupon was freed meanwhile. No other job searches for
// these shards. If a loader dies before it calls dropLate, the shards stay until the coupon is published again.
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
