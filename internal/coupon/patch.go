package coupon

import (
	"context"
	"fmt"
	"time"
)

// Change holds the fields of a coupon that an administrator alters; nil leaves a field as it is.
type Change struct {
	Title        *string
	Total        *int64 // units put on sale in all; lowered only while the coupon is a draft or paused
	LimitPerUser *int   // lowered only while the coupon is a draft
	PriceCents   *int64
	BeginsAt     *time.Time
	EndsAt       *time.Time
	End          bool // ends the sale for good, and now
}

// Patch alters a coupon. ErrConflict if its state forbids that: an ended coupon
// stays as it is, and a stock that is on sale is lowered only while paused.
//
// Units that are added to a stock on sale go into the database first, and then into the shards:
//
//	change the coupon: more units, left and owed to the shards ─▶ add them to the shards
//
// If the second step fails, RunRestorer does it, on any instance. Repeating the call repeats only that step,
// because the stock is given as a whole.
func (s *Service) Patch(ctx context.Context, id int64, ch Change) (Coupon, error) {
	now := s.now()
	c, err := s.repo.Change(ctx, id, func(c *Coupon) error { return ch.apply(c, now) })
	if err != nil {
		return Coupon{}, err
	}
	s.changed(ctx, id)
	if ch.Total != nil {
		s.raiseNow(ctx, c)
	}
	return c, nil
}

// raiseTimeout bounds how long an administrator waits for the shards. The restorer adds the units that
// are missing by then.
const raiseTimeout = 2 * time.Second

func (s *Service) raiseNow(ctx context.Context, c Coupon) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), raiseTimeout)
	defer cancel()
	if err := s.raise(ctx, c); err != nil {
		s.log.WarnContext(ctx, "added units left to the restorer", "coupon", c.ID, "epoch", c.Epoch, "error", err)
	}
}

// raise adds to the shards those of the added units that they are owed.
func (s *Service) raise(ctx context.Context, c Coupon) error {
	if c.Raised == 0 {
		return nil
	}
	return s.shards.Raise(ctx, c.ID, c.Epoch, c.Shards, c.Raised)
}

func (ch Change) apply(c *Coupon, now time.Time) error {
	if c.State == Ended {
		return fmt.Errorf("%w: it has ended", ErrConflict)
	}
	if ch.Total != nil {
		if err := c.setTotal(*ch.Total, now); err != nil {
			return err
		}
	}
	if ch.EndsAt != nil && c.Loading {
		c.endEpoch(now) // the units that a sale was owed when it was over may have been dropped already
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
	return c.Validate()
}

// setTotal changes how many units are put on sale. Shards that are open, or about to be, go on with
// their epoch and get the units that are added; any other stock is loaded in a new one.
func (c *Coupon) setTotal(total int64, now time.Time) error {
	sold, added := c.Total-c.Left, total-c.Total
	switch {
	case added == 0:
		return nil
	case c.State == OnSale && added < 0:
		return fmt.Errorf("%w: pause the sale before lowering its stock", ErrConflict)
	case total < sold:
		return fmt.Errorf("%w: %d units are sold already", ErrConflict, sold)
	}
	c.Total, c.Left = total, total-sold
	if c.State == OnSale && (!c.Loading || c.Opening) {
		c.Raised += added
		return nil
	}
	c.endEpoch(now) // the shards do not hold this stock
	return nil
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

// endEpoch invalidates the stock that the shards hold or are being filled with.
func (c *Coupon) endEpoch(now time.Time) {
	if c.Epoch > 0 {
		c.Epoch = EpochAfter(c.Epoch, now)
		c.Opening, c.Raised = false, 0
	}
}

func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}
