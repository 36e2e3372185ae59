package app

import (
	"context"
	"slices"

	"seckill/internal/api"
	"seckill/internal/coupon"
)

// saleStatus implements api.SaleStatus: it shows how the app works at a sale.
type saleStatus struct{ *App }

// LiveStats reads the holds from Redis; the rest is known to this instance.
func (s saleStatus) LiveStats(ctx context.Context, c coupon.Coupon) (api.LiveStats, error) {
	holds, err := s.Stock.CountHolds(ctx, c.ID, c.Shards)
	if err != nil {
		return api.LiveStats{}, err
	}
	live := &s.metrics.Live
	p := api.LiveStats{Holds: holds, Lent: live.Lent(c.ID, c.Shards), P99: live.P99()}
	p.LocksHeld, p.LocksWaiting = live.Locks()
	for _, i := range s.fleet.Peers() {
		p.Instances = append(p.Instances, api.Instance{
			Name: i.Name, SoldOut: slices.Contains(i.SoldOut, c.ID), Self: i.Name == s.fleet.Name(),
		})
	}
	return p, nil
}
