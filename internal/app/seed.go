package app

import (
	"context"
	"fmt"
	"io"
	"time"

	"example.com/seckill/internal/coupon"
)

// FirstCoupon returns a coupon for a first look: on sale from now on, for the duration.
func FirstCoupon(units int64, limitPerUser int, lasts time.Duration) coupon.Coupon {
	now := time.Now()
	return coupon.Coupon{
		Title: "Flash sale", Total: units, LimitPerUser: limitPerUser, PriceCents: 990,
		BeginsAt: now.Add(-time.Second), EndsAt: now.Add(lasts),
	}
}

// Seed creates the coupon and puts it on sale if the database has no coupon, and reports the result to out. If the only
// coupon is a draft, Seed publishes the draft, because an earlier Seed may have ended between the two steps. Otherwise
// Seed changes nothing.
func (a *App) Seed(ctx context.Context, c coupon.Coupon, out io.Writer) error {
	known, err := a.store.Coupons().List(ctx, 0, 2)
	if err != nil {
		return err
	}
	switch {
	case len(known) == 0:
		c, err = a.sell(ctx, c)
	case len(known) == 1 && known[0].State == coupon.Draft:
		c, err = a.publish(ctx, known[0].ID)
	default:
		_, _ = fmt.Fprintf(out, "nothing to do: the database has coupon %d\n", known[0].ID)
		return nil
	}
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(out, "coupon %d is on sale: %d units, until %s\n", c.ID, c.Total, c.EndsAt.UTC().Format(time.RFC3339))
	return nil
}

// sell creates a coupon and puts it on sale.
func (a *App) sell(ctx context.Context, c coupon.Coupon) (coupon.Coupon, error) {
	c, err := a.Coupons.Create(ctx, c)
	if err != nil {
		return c, fmt.Errorf("create the coupon: %w", err)
	}
	return a.publish(ctx, c.ID)
}

func (a *App) publish(ctx context.Context, id int64) (coupon.Coupon, error) {
	c, err := a.Coupons.Publish(ctx, id)
	if err != nil {
		return c, fmt.Errorf("publish the coupon: %w", err)
	}
	return c, nil
}
