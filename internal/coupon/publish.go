package coupon

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Publish loads the stock and opens the sale:
//
//	begin an epoch in the database (on sale, loading) ─▶ fill the shards ─▶ all are filled
//	(opening) ─▶ open the shards ─▶ not loading any more
//
// Only the first step blocks orders, for one update of the coupon's row; the time to fill
// depends on the number of buyers. After a crash or an error between two steps no order is
// admitted, and RunRestorer, on any instance, resumes the loading and opens the sale. A
// pause meanwhile wins: Publish returns ErrConflict. Publish is idempotent: a coupon that is
// on sale with its shards loaded stays as it is.
func (s *Service) Publish(ctx context.Context, id int64) (Coupon, error) {
	return s.exclusively(ctx, id, func(ctx context.Context, c Coupon) (Coupon, error) {
		if c.StateAt(s.now()) != Ended { // load refuses it then
			if err := s.beforePublish(ctx, id); err != nil {
				return Coupon{}, fmt.Errorf("prepare the sale of coupon %d: %w", id, err)
			}
		}
		if c.State == OnSale && !c.Loading {
			loaded, err := s.shards.Loaded(ctx, id, c.Epoch, c.Shards)
			if err != nil || loaded {
				return c, err
			}
		}
		return s.load(ctx, c, PutOnSale)
	})
}

// Reload loads the shards from the database under a new epoch, whatever they hold now, and
// leaves the state of the coupon as it is. It repairs Redis.
func (s *Service) Reload(ctx context.Context, id int64) (Coupon, error) {
	return s.exclusively(ctx, id, func(ctx context.Context, c Coupon) (Coupon, error) {
		return s.begin(ctx, c, KeepState)
	})
}

// exclusively reads the coupon and runs work on it while no other instance loads it.
func (s *Service) exclusively(ctx context.Context, id int64, work func(context.Context, Coupon) (Coupon, error)) (Coupon, error) {
	return s.exclusivelyAfter(ctx, id, s.Heartbeat, work)
}

// exclusivelyAfter is exclusively after another check than a heartbeat.
func (s *Service) exclusivelyAfter(
	ctx context.Context, id int64, check func(context.Context) error, work func(context.Context, Coupon) (Coupon, error),
) (Coupon, error) {
	var c Coupon
	err := s.exclusive(ctx, id, func(ctx context.Context) error {
		if err := check(ctx); err != nil {
			return err
		}
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

// Heartbeat records in both stores that they belong together: that what Redis holds was loaded
// from this database in its present state. ErrOtherDeployment if Redis is in use by another
// database; nothing may be loaded then.
func (s *Service) Heartbeat(ctx context.Context) (err error) {
	defer func() { s.onHeartbeat(err) }()
	known, err := s.shards.Owner(ctx)
	if err != nil {
		return err
	}
	owner, err := s.loader.Heartbeat(ctx, known)
	if err != nil {
		return err
	}
	if err = s.shards.SetOwner(ctx, owner); err == nil {
		s.lastHeartbeat.Store(time.Now().UnixNano())
	}
	return err
}

// heartbeatAge is how old the last heartbeat may be when a lost stock is loaded again. It is far below the time for
// which a heartbeat counts, in which no other database can have taken this Redis.
const heartbeatAge = 2 * time.Second

// recentHeartbeat is Heartbeat, unless there was one a moment ago. The restorer sends one with each look, and when many
// coupons are lost, one for each would be most of the work.
func (s *Service) recentHeartbeat(ctx context.Context) error {
	if time.Since(time.Unix(0, s.lastHeartbeat.Load())) < heartbeatAge {
		return nil
	}
	return s.Heartbeat(ctx)
}

// load loads the coupon. As a rule one instance at a time does; two that do it nevertheless do
// the same. A loading in progress is resumed, unless a shard that may have been open is lost:
// then its epoch cannot be completed, and a new one begins.
func (s *Service) load(ctx context.Context, c Coupon, then AfterLoad) (Coupon, error) {
	if c.Loading && c.Shards > 0 && c.StateAt(s.now()) != Ended {
		loaded, err := s.resume(ctx, c, then)
		if !errors.Is(err, ErrPartiallyLoaded) {
			return loaded, err
		}
	}
	return s.begin(ctx, c, then)
}

// begin loads a new epoch.
func (s *Service) begin(ctx context.Context, c Coupon, then AfterLoad) (Coupon, error) {
	if c.StateAt(s.now()) == Ended {
		return Coupon{}, fmt.Errorf("%w: it has ended", ErrConflict)
	}
	shards := s.shardCount
	if shards == 0 {
		shards = s.shards.ShardsFor(ctx, c.Total)
	}
	l, err := s.loader.NextEpoch(ctx, c.ID, c.Epoch, shards, then)
	if err != nil {
		return Coupon{}, err
	}
	s.changed(ctx, c.ID)
	return s.fill(ctx, l, then)
}

// resume continues a loading that was cut off, or that another instance is doing.
func (s *Service) resume(ctx context.Context, c Coupon, then AfterLoad) (Coupon, error) {
	if then == PutOnSale && c.State != OnSale {
		_, err := s.recordProgress(ctx, c.ID, c.Epoch, func(c *Coupon) { c.State = OnSale })
		if err != nil {
			return Coupon{}, err
		}
	}
	if c.Opening {
		return s.open(ctx, Load{CouponID: c.ID, Epoch: c.Epoch, Shards: c.Shards}, then)
	}
	l, err := s.loader.Resume(ctx, c.ID, c.Epoch)
	if err != nil {
		return Coupon{}, err
	}
	return s.fill(ctx, l, then)
}

// fill fills the shards and opens them. The database records that all are filled before the
// first of them opens: until then the outbox has every unit restocked since the epoch began,
// and any shard can be filled again; from then on none can.
func (s *Service) fill(ctx context.Context, l Load, then AfterLoad) (_ Coupon, err error) {
	defer func() {
		if late := s.dropLate(ctx, l, err); late != nil {
			err = errors.Join(err, late)
		}
	}()
	l.Buyers = func(ctx context.Context, after int64) (Page, error) {
		return s.loader.Buyers(ctx, l.CouponID, l.Epoch, after)
	}
	if err := s.shards.Fill(ctx, l); err != nil {
		return Coupon{}, fmt.Errorf("load coupon %d: %w", l.CouponID, err)
	}
	over := false
	c, err := s.recordProgress(ctx, l.CouponID, l.Epoch, func(c *Coupon) { c.Opening, over = c.Loading, !c.Loading })
	if err != nil || over { // another instance finished it, and l lacks what was sold since
		return c, err
	}
	return s.open(ctx, l, then)
}

// open opens shards that are filled, and then the sale. It does not open shards whose stock an
// administrator has changed meanwhile.
func (s *Service) open(ctx context.Context, l Load, then AfterLoad) (Coupon, error) {
	if err := s.shards.Open(ctx, l); err != nil {
		return Coupon{}, fmt.Errorf("open coupon %d: %w", l.CouponID, err)
	}
	loaded, err := s.recordProgress(ctx, l.CouponID, l.Epoch, func(c *Coupon) { c.Loading, c.Opening = false, false })
	if err != nil {
		return Coupon{}, err
	}
	s.changed(ctx, l.CouponID)
	if then == PutOnSale && loaded.State != OnSale {
		return Coupon{}, fmt.Errorf("%w: it was paused while it was being loaded", ErrConflict)
	}
	return loaded, nil
}

// recordProgress records how far a loading has come, unless its epoch is over.
func (s *Service) recordProgress(ctx context.Context, id, epoch int64, alter func(c *Coupon)) (Coupon, error) {
	return s.repo.Change(ctx, id, func(c *Coupon) error {
		if c.Epoch != epoch || c.State == Ended {
			return fmt.Errorf("%w: it was changed while it was being loaded", ErrConflict)
		}
		alter(c)
		return nil
	})
}
