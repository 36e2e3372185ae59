package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/stock"
)

// ownershipTimeout is longer than the heartbeat of a stopped database counts.
const ownershipTimeout = 12 * time.Second

// takeOwnership makes this database the one that Redis is loaded from. It waits for the
// heartbeat of a database that has just stopped to expire. It fails if another database
// uses this Redis, or if the Redis cannot tell that it has lost data.
func (a *App) takeOwnership(ctx context.Context) error {
	if err := a.Stock.CheckServers(ctx); err != nil {
		return ownershipError(err)
	}
	for until := time.Now().Add(ownershipTimeout); ; {
		err := a.Coupons.Heartbeat(ctx)
		if err == nil {
			a.onStop(func(ctx context.Context) error { _ = a.Stock.ReleaseOwnership(ctx, a.fleet.Name()); return nil }) // it expires anyway
			return nil
		}
		if !errors.Is(err, coupon.ErrOtherDeployment) || time.Now().After(until) {
			return ownershipError(err)
		}
		if err := rest(ctx, restoreInterval/4); err != nil {
			return err
		}
	}
}

// ownershipError marks err as a usage error if only the operator can mend it.
func ownershipError(err error) error {
	if errors.Is(err, coupon.ErrOtherDeployment) || errors.Is(err, stock.ErrInfoDenied) {
		return Usage(err)
	}
	return err
}

// checkLoaded returns an error if a newer version of the program has loaded a running sale. It also returns an error if
// a running sale has another number of shards than stock.shards, because the next loading would move its stock. A sale
// whose shards are freed has none. The program repairs every other fault in Redis while it runs.
func (a *App) checkLoaded(ctx context.Context) error {
	loaded, err := a.loadedCoupons(ctx)
	if err != nil {
		return err
	}
	sold := slices.DeleteFunc(loaded, func(c coupon.Coupon) bool {
		at := c.StateAt(a.clock.Now())
		return at != coupon.OnSale && at != coupon.Paused
	})
	_, errs := a.Stock.LoadedAll(ctx, sold)
	for i, c := range sold {
		if stock.IsNewerLayout(errs[i]) {
			return Usage(fmt.Errorf("an older version cannot go on with what a newer one has loaded: %w", errs[i]))
		}
		if c.State == coupon.OnSale && c.Shards > 0 && a.cfg.Stock.Shards > 0 && c.Shards != a.cfg.Stock.Shards {
			return Usage(fmt.Errorf("stock.shards: coupon %d is on sale over another number of shards: "+
				"pause it first, or set the number that it has", c.ID))
		}
	}
	return nil
}
