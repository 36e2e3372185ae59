package coupon

import (
	"context"
	"fmt"
	"time"
)

// Change is what an administrator may alter of a coupon; nil leaves a field as it is.
type Change struct {
	Title        *string
	Total        *int64 // units put on sale in all; only while the coupon is a draft or paused
	LimitPerUser *int   // lowered only while the coupon is a draft
	PriceCents   *int64
	BeginsAt     *time.Time
	EndsAt       *time.Time
	End          bool // ends the sale for good, and now
}

// Patch alters a coupon. ErrConflict if its state forbids that: an ended coupon
// stays as it is, and a stock that is loaded is altered only while paused.
func (s *Service) Patch(ctx context.Context, id int64, ch Change) (Coupon, error) {
	now := s.now()
	c, err := s.repo.Change(ctx, id, func(c *Coupon) error { return ch.apply(c, now) })
	if err != nil {
		return Coupon{}, err
	}
	s.changed(ctx, id)
	return c, nil
}

func (ch Change) apply(c *Coupon, now time.Time) error {
	if c.State == Ended {
		return fmt.Errorf("%w: it has ended", ErrConflict)
	}
	if ch.Total != nil {
		if c.State == OnSale {
			return fmt.Errorf("%w: pause the sale before changing its stock", ErrConflict)
		}
		sold := c.Total - c.Left
		if *ch.Total < sold {
			return fmt.Errorf("%w: %d units are sold already", ErrConflict, sold)
		}
		c.Total, c.Left = *ch.Total, *ch.Total-sold
		c.endEpoch(now) // the shards do not hold this stock
	}
	if ch.EndsAt != nil && c.Loading {
		c.endEpoch(now) // what was owed to a sale that was over may have been dropped already
	}
	if ch.LimitPerUser != nil && *ch.LimitPerUser < c.LimitPerUser && c.State != Draft {
		return fmt.Errorf("%w: users may have reached the limit of %d already", ErrConflict, c.LimitPerUser)
	}
	set(&c.Title, ch.Title)
	set(&c.LimitPerUser, ch.LimitPerUser)
	set(&c.PriceCents, ch.PriceCents)
	set(&c.BeginsAt, ch.BeginsAt)
	set(&c.EndsAt, ch.EndsAt)
	if ch.End {
		c.end(now)
	}
	return c.Check()
}

// end ends the sale at now, unless it was over before. Retention counts from there. The window
// of a sale that never began becomes its last millisecond.
func (c *Coupon) end(now time.Time) {
	c.State = Ended
	if now = now.UTC().Truncate(time.Millisecond); now.Before(c.EndsAt) {
		c.EndsAt = now
	}
	if !c.BeginsAt.Before(c.EndsAt) {
		c.BeginsAt = c.EndsAt.Add(-time.Millisecond)
	}
}

// endEpoch invalidates what the shards hold or are being filled with.
func (c *Coupon) endEpoch(now time.Time) {
	if c.Epoch > 0 {
		c.Epoch = EpochAfter(c.Epoch, now)
		c.Opening = false
	}
}

func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}
