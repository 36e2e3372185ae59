package coupon

import (
	"context"
	"fmt"
)

// Publish loads the stock and opens the sale:
//
//	begin an epoch in the database (closed) ─▶ load the shards ─▶ open in the database
//
// A crash between two of the steps leaves the sale closed, and the next
// publication begins a newer epoch. A coupon that is on sale with its shards
// loaded is left as it is, so that publishing twice is publishing once.
func (s *Service) Publish(ctx context.Context, id int64) (Coupon, error) {
	return s.alone(ctx, id, func(ctx context.Context, c Coupon) (Coupon, error) {
		if c.State == OnSale {
			loaded, err := s.shards.Loaded(ctx, id, c.Epoch, c.Shards)
			if err != nil || loaded {
				return c, err
			}
		}
		return s.load(ctx, c, OnSale)
	})
}

// Reload sets the shards from the database under a new epoch, whatever they hold
// now, and leaves the sale open if it was open and closed if it was closed. It is
// how Redis is mended.
func (s *Service) Reload(ctx context.Context, id int64) (Coupon, error) {
	return s.alone(ctx, id, func(ctx context.Context, c Coupon) (Coupon, error) {
		return s.load(ctx, c, c.State)
	})
}

// alone reads the coupon and works on it while no other instance loads it.
func (s *Service) alone(ctx context.Context, id int64, work func(context.Context, Coupon) (Coupon, error)) (Coupon, error) {
	var c Coupon
	err := s.exclusive(ctx, id, func(ctx context.Context) error {
		found, err := s.repo.Find(ctx, id)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return ErrNotFound
		}
		c, err = work(ctx, found[0])
		return err
	})
	return c, err
}

// load runs while this instance alone loads the coupon, which is in the state to
// afterwards. Shards that were loaded from a stock that an administrator has altered
// meanwhile are not opened.
func (s *Service) load(ctx context.Context, c Coupon, to State) (Coupon, error) {
	if c.StateAt(s.now()) == Ended {
		return Coupon{}, fmt.Errorf("%w: it has ended", ErrConflict)
	}
	load, err := s.loader.NextEpoch(ctx, c.ID, s.parts)
	if err != nil {
		return Coupon{}, err
	}
	s.changed(ctx, c.ID)
	if err := s.shards.Load(ctx, load); err != nil {
		return Coupon{}, fmt.Errorf("load coupon %d: %w", c.ID, err)
	}
	opened, err := s.repo.Change(ctx, c.ID, func(c *Coupon) error {
		if c.Epoch != load.Epoch || c.State == Ended {
			return fmt.Errorf("%w: it was changed while it was being loaded", ErrConflict)
		}
		c.State = to
		return nil
	})
	if err != nil {
		return Coupon{}, err
	}
	s.changed(ctx, c.ID)
	return opened, nil
}
