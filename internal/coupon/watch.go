package coupon

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

const (
	// restoreWithin bounds one look and the loading that may follow.
	restoreWithin = 10 * time.Second
	// stepBack is for how many times as long as its look took an instance that was
	// overtaken may wait.
	stepBack = 8
)

// errOvertaken: while the stock was being loaded another began to load it, or a person
// altered it.
var errOvertaken = errors.New("coupon: overtaken while loading")

// Watch looks after the loaded stock until ctx ends:
//
//	list the coupons ─▶ are the shards as they were loaded? ─▶ no: Restore
//
// It runs on every instance. With a lock that lets several in, each would begin a newer
// epoch than the others' and none would come to its end, so who was overtaken steps
// back, each for another while. did is told after each pass that restored or failed
// something. A store that is away is waited for, and told in the log once.
func (s *Service) Watch(ctx context.Context, every time.Duration, did func(restored int, err error)) {
	failing := false
	for pause := every; ; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		began := time.Now()
		restored, overtaken, err := s.lookAfter(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil && !failing {
			s.log.WarnContext(ctx, "the loaded stock cannot be looked after", "error", err)
		}
		failing = err != nil
		if restored > 0 || failing {
			did(restored, err)
		}
		pause = every
		if overtaken {
			pause += rand.N(stepBack * time.Since(began)) //nolint:gosec // spreads, does not guard
		}
	}
}

func (s *Service) lookAfter(ctx context.Context) (restored int, overtaken bool, failed error) {
	loaded, err := s.loader.Loaded(ctx)
	if err != nil {
		return 0, false, fmt.Errorf("list the coupons: %w", err)
	}
	for _, c := range loaded {
		done, err := s.restore(ctx, c)
		if done {
			restored++
		}
		overtaken = overtaken || errors.Is(err, errOvertaken)
		if err != nil && !errors.Is(err, ErrConflict) { // another instance is at it, or a person has altered it
			failed = fmt.Errorf("look after coupon %d: %w", c.ID, err)
		}
	}
	return restored, overtaken, failed
}

// restore loads a coupon again whose shards are not as they were loaded, under a new
// epoch: then what Redis still has or has forgotten counts no more, and the database
// alone says what is left. It says whether it did. While a shard does not answer,
// nothing is begun: the others sell on.
func (s *Service) restore(ctx context.Context, c Coupon) (restored bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, restoreWithin)
	defer cancel()
	if sound, err := s.sound(ctx, c); err != nil || sound {
		return false, err
	}
	_, err = s.alone(ctx, c.ID, func(ctx context.Context, c Coupon) (Coupon, error) {
		// Another may have loaded it while this one waited for its turn.
		if sound, err := s.sound(ctx, c); err != nil || sound {
			return c, err
		}
		began := time.Now()
		s.log.WarnContext(ctx, "the stock in Redis is lost, old or half loaded: loading it again",
			"coupon", c.ID, "epoch", c.Epoch)
		c, err := s.load(ctx, c, false)
		if err == nil {
			restored = true
			s.log.InfoContext(ctx, "the stock is loaded again", "coupon", c.ID, "epoch", c.Epoch,
				"state", c.State, "left", c.Left, "took", time.Since(began))
		}
		if errors.Is(err, ErrConflict) {
			err = fmt.Errorf("%w: %w", errOvertaken, err)
		}
		return c, err
	})
	return restored, err
}

// sound says whether there is nothing to restore. Of a draft nothing is loaded, and
// what has ended is not sold any more.
func (s *Service) sound(ctx context.Context, c Coupon) (bool, error) {
	if at := c.StateAt(s.now()); at != OnSale && at != Paused {
		return true, nil
	}
	loaded, err := s.shards.Loaded(ctx, c.ID, c.Epoch, c.Shards)
	return loaded && !c.Loading, err
}
