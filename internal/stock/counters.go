package stock

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// CountHolds returns what is open in each shard: holds, and the marks of buyers whose unit a
// sibling lends.
func (s *Stock) CountHolds(ctx context.Context, couponID int64, shards int) ([]int64, error) {
	cmds := make([]*redis.IntCmd, shards)
	_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for shard := range cmds {
			cmds[shard] = p.HLen(ctx, s.tag(couponID, shard)+"holds")
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%w: count the holds of coupon %d: %w", order.ErrUnavailable, couponID, err)
	}
	open := make([]int64, shards)
	for shard, cmd := range cmds {
		open[shard] = max(0, cmd.Val()-1) // without the mark
	}
	return open, nil
}

// Left returns the units in each shard; with an error those that cannot be read are 0.
func (s *Stock) Left(ctx context.Context, couponID int64, shards int) ([]int64, error) {
	cmds := make([]*redis.StringCmd, shards)
	_, _ = s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for shard := range cmds {
			cmds[shard] = p.Get(ctx, s.tag(couponID, shard)+"stock")
		}
		return nil
	})
	left := make([]int64, shards)
	var failed error
	for shard, cmd := range cmds {
		units, err := cmd.Int64()
		switch {
		case errors.Is(err, redis.Nil), cmd.Val() == closedCounter:
			failed = cmp.Or(failed, coupon.ErrNotLoaded)
		case err != nil:
			failed = fmt.Errorf("%w: shard %d of coupon %d: %w", order.ErrUnavailable, shard, couponID, err)
		}
		left[shard] = units
	}
	return left, failed
}
