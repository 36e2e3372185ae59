package coupon

import (
	"context"
	"fmt"
)

// Publish loads the stock and opens the sale:
//
//	begin an epoch in the database (on sale, loading) ─▶ load the shards ─▶ not loading any more
//
// A crash or an error between two of the steps leaves nobody admitted and the wish
// written down: Watch, on any instance, begins a newer epoch and opens the sale. A
// pause meanwhile wins, and is the publisher's ErrConflict. A coupon that is on sale
// with its shards loaded is left as it is, so that publishing twice is publishing once.
func (s *Service) Publish(ctx context.Context, id int64) (Coupon, error) {
	return s.alone(ctx, id, func(ctx context.Context, c Coupon) (Coupon, error) {
		if c.State == OnSale && !c.Loading {
			loaded, err := s.shards.Loaded(ctx, id, c.Epoch, c.Shards)
			if err != nil || loaded {
				return c, err
			}
		}
		return s.load(ctx, c, true)
	})
}

// Reload sets the shards from the database under a new epoch, whatever they hold
// now, and leaves the coupon in its state. It is how Redis is mended.
func (s *Service) Reload(ctx context.Context, id int64) (Coupon, error) {
	return s.alone(ctx, id, func(ctx context.Context, c Coupon) (Coupon, error) {
		return s.load(ctx, c, false)
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

// load runs while this instance alone loads the coupon. With open it is put on sale,
// without it stays in the state that it has by then. Shards that were loaded from a
// stock that an administrator has altered meanwhile are not opened.
func (s *Service) load(ctx context.Context, c Coupon, open bool) (Coupon, error) {
	if c.StateAt(s.now()) == Ended {
		return Coupon{}, fmt.Errorf("%w: it has ended", ErrConflict)
	}
	load, err := s.loader.NextEpoch(ctx, c.ID, s.parts, open)
	if err != nil {
		return Coupon{}, err
	}
	s.changed(ctx, c.ID)
	if err := s.shards.Load(ctx, load); err != nil {
		return Coupon{}, fmt.Errorf("load coupon %d: %w", c.ID, err)
	}
	loaded, err := s.repo.Change(ctx, c.ID, func(c *Coupon) error {
		if c.Epoch != load.Epoch || c.State == Ended {
			return fmt.Errorf("%w: it was changed while it was being loaded", ErrConflict)
		}
		c.Loading = false
		return nil
	})
	if err != nil {
		return Coupon{}, err
	}
	s.changed(ctx, c.ID)
	if open && loaded.State != OnSale {
		return Coupon{}, fmt.Errorf("%w: it was paused while it was being loaded", ErrConflict)
	}
	return loaded, nil
}
