package app

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"seckill/internal/coupon"
	"seckill/internal/lock"
	"seckill/internal/order"
)

// loadWait is how long one load of a coupon waits for another, and loadLease how long it
// waits at most for an instance that died while it loaded.
const (
	loadWait  = 5 * time.Second
	loadLease = 3 * time.Second
)

// loadExclusively runs work while no other instance loads the coupon.
func (a *App) loadExclusively(ctx context.Context, id int64, work func(context.Context) error) error {
	err := a.leases.Do(ctx, "coupon:"+strconv.FormatInt(id, 10), func(ctx context.Context, _ *lock.Lease) error {
		return work(ctx)
	}, lock.WithWait(loadWait), lock.WithLease(min(loadLease, a.cfg.Lock.Lease)))
	switch {
	case errors.Is(err, lock.ErrNotAcquired):
		return fmt.Errorf("%w: it is being loaded", coupon.ErrConflict)
	case errors.Is(err, lock.ErrUnavailable):
		return fmt.Errorf("%w: %w", order.ErrUnavailable, err)
	}
	return err
}
