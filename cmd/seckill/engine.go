package main

import (
	"context"
	"slices"

	"seckill/internal/api"
	"seckill/internal/coupon"
)

// engine shows the page how the app works at a sale.
type engine struct{ *app }

// Pulse asks Redis for the holds; the rest this instance knows.
func (e engine) Pulse(ctx context.Context, c coupon.Coupon) (api.Pulse, error) {
	holds, err := e.stock.CountHolds(ctx, c.ID, c.Shards)
	if err != nil {
		return api.Pulse{}, err
	}
	felt := &e.metrics.Pulse
	p := api.Pulse{Holds: holds, Lent: felt.Lent(c.ID, c.Shards), P99: felt.P99()}
	p.LocksHeld, p.LocksWaiting = felt.Locks()
	for _, i := range e.fleet.Peers() {
		p.Instances = append(p.Instances, api.Instance{
			Name: i.Name, SoldOut: slices.Contains(i.SoldOut, c.ID), Self: i.Name == e.fleet.Name(),
		})
	}
	return p, nil
}
