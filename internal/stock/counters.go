package stock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// CountHolds returns what is open in each shard: holds, and the marks of buyers whose unit a
// sibling lends. CameBack is the number of units of ended orders that went back to the shards since they were loaded.
func (s *Stock) CountHolds(ctx context.Context, couponID int64, shards int) (open []int64, cameBack int64, err error) {
	holds, returns := make([]*redis.IntCmd, shards), make([]*redis.IntCmd, shards)
	_, err = s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for shard := range holds {
			tag := s.tag(couponID, shard)
			holds[shard], returns[shard] = p.HLen(ctx, tag+"holds"), p.SCard(ctx, tag+"returned")
		}
		return nil
	})
	if err != nil {
		return nil, 0, fmt.Errorf("%w: count the holds of coupon %d: %w", order.ErrUnavailable, couponID, err)
	}
	open = make([]int64, shards)
	for shard := range holds {
		open[shard] = max(0, holds[shard].Val()-1) // without the mark
		cameBack += max(0, returns[shard].Val()-1)
	}
	return open, cameBack, nil
}

// Remaining returns the units in each shard; with an error those that cannot be read are 0.
func (s *Stock) Remaining(ctx context.Context, couponID int64, shards int) ([]int64, error) {
	left, errs := s.RemainingAll(ctx, []coupon.Coupon{{ID: couponID, Shards: shards}})
	return left[0], errs[0]
}

// RemainingAll is Remaining for many coupons, in few round trips.
func (s *Stock) RemainingAll(ctx context.Context, all []coupon.Coupon) (left [][]int64, errs []error) {
	left, errs = make([][]int64, len(all)), make([]error, len(all))
	for i, c := range all {
		left[i] = make([]int64, c.Shards)
	}
	for trip := range slices.Chunk(shardsOf(all), countersPerTrip) {
		cmds := make([]*redis.StringCmd, len(trip))
		_, _ = s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
			for n, at := range trip {
				cmds[n] = p.Get(ctx, s.tag(all[at.coupon].ID, at.shard)+"stock")
			}
			return nil
		})
		for n, cmd := range cmds {
			i, shard := trip[n].coupon, trip[n].shard
			units, err := cmd.Int64()
			switch {
			case errors.Is(err, redis.Nil), cmd.Val() == closedCounter:
				errs[i] = cmp.Or(errs[i], coupon.ErrNotLoaded)
			case err != nil:
				errs[i] = fmt.Errorf("%w: shard %d of coupon %d: %w", order.ErrUnavailable, shard, all[i].ID, err)
			}
			left[i][shard] = units
		}
	}
	return left, errs
}
