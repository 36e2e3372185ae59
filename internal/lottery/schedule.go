package lottery

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"time"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/lock"
)

// Schedule configures RunDraws.
type Schedule struct {
	Every  time.Duration          // between two passes
	Within time.Duration          // after which a pass begins no further step; 0 is 10 seconds
	Known  func() []coupon.Coupon // the sales that this instance knows
	Locker Locker                 // lets one instance at a time draw a coupon
	// Loaded lists the coupons that are or were on sale. RunDraws calls it once a second, so that it finds the sales of
	// which no buyer has asked this instance. It may be nil.
	Loaded func(ctx context.Context) ([]coupon.Coupon, error)
	// OnFailure is called with the error of a pass over a draw. It may be nil.
	OnFailure func(err error)
}

// Locker runs work inside a distributed lock. *lock.Locker implements it.
type Locker interface {
	Do(ctx context.Context, key string, work func(ctx context.Context, lease *lock.Lease) error, opts ...lock.Option) error
}

const (
	// passTime is the default of Schedule.Within, so that the draws of other sales have their turn.
	passTime = 10 * time.Second
	// stepTimeout bounds the last step of a pass, which no store answers.
	stepTimeout = 30 * time.Second
	// findInterval is how often RunDraws lists the sales that have draws.
	findInterval = time.Second
)

// RunDraws draws the tickets of the coupons whose time has come, until ctx ends. It runs on every instance.
func (s *Service) RunDraws(ctx context.Context, w Schedule) {
	tick := time.NewTicker(w.Every)
	defer tick.Stop()
	var found []coupon.Coupon
	for foundAt := (time.Time{}); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if w.Loaded != nil && time.Since(foundAt) >= findInterval {
			found, foundAt = s.findSales(ctx, w), time.Now()
		}
		known := w.Known()
		isKnown := make(map[int64]bool, len(known))
		for _, sale := range known {
			isKnown[sale.ID] = true
		}
		for _, sale := range found {
			if !isKnown[sale.ID] {
				known = append(known, sale)
			}
		}
		for _, sale := range known {
			if s.drawDue(sale) {
				s.runPass(ctx, w, sale)
			}
		}
	}
}

// findSales returns the loaded sales that have a draw whose time has come and that has not ended.
func (s *Service) findSales(ctx context.Context, w Schedule) (found []coupon.Coupon) {
	all, err := w.Loaded(ctx)
	due := map[int64]coupon.Coupon{}
	for _, sale := range all {
		if s.drawDue(sale) {
			due[sale.ID] = sale
		}
	}
	var open []int64
	if err == nil && len(due) > 0 {
		open, err = s.store.OpenDraws(ctx, slices.Collect(maps.Keys(due)))
	}
	if err != nil && ctx.Err() == nil {
		s.log.WarnContext(ctx, "draw interrupted", "error", err)
		if w.OnFailure != nil {
			w.OnFailure(err)
		}
	}
	for _, id := range open {
		found = append(found, due[id])
	}
	return found
}

// runPass runs one pass over a draw, unless another instance is running one.
func (s *Service) runPass(ctx context.Context, w Schedule, sale coupon.Coupon) {
	err := w.Locker.Do(ctx, "job:draw:"+strconv.FormatInt(sale.ID, 10), func(ctx context.Context, _ *lock.Lease) error {
		within := cmp.Or(w.Within, passTime)
		ctx, cancel := context.WithTimeout(ctx, within+stepTimeout)
		defer cancel()
		_, err := s.runDraw(ctx, sale, within)
		return err
	}, lock.WithWait(0))
	if err == nil || errors.Is(err, lock.ErrNotAcquired) || ctx.Err() != nil {
		return
	}
	s.log.WarnContext(ctx, "draw interrupted", "coupon", sale.ID, "error", err)
	if w.OnFailure != nil {
		w.OnFailure(err)
	}
}
