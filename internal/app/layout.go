package app

import (
	"context"
	"fmt"

	"seckill/internal/coupon"
	"seckill/internal/stock"
)

// checkLayouts returns an error if a newer version of the program has loaded a running sale. Whatever
// else is wrong with what is in Redis is mended while the program runs.
func (a *App) checkLayouts(ctx context.Context) error {
	loaded, err := a.loadedCoupons(ctx)
	if err != nil {
		return err
	}
	for _, c := range loaded {
		if at := c.StateAt(a.clock.Now()); at != coupon.OnSale && at != coupon.Paused {
			continue
		}
		if _, err := a.Stock.Loaded(ctx, c.ID, c.Epoch, c.Shards); stock.IsNewerLayout(err) {
			return Usage(fmt.Errorf("an older version cannot go on with what a newer one has loaded: %w", err))
		}
	}
	return nil
}
