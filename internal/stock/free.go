package stock

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/order"
)

// MaxShards is the largest number of shards that a coupon can have had.
const MaxShards = 1024

// freeBatch is how many shards are looked up in one round trip.
const freeBatch = 128

// Free drops everything that Redis has of a coupon, also the shards of a time when there were more
// of them. A shard of a later epoch stays, because the coupon was loaded since, and so does one of
// another deployment. Each step is one shard and is short: another thread of the server frees the
// memory. Freed is the number of shards dropped.
func (s *Stock) Free(ctx context.Context, couponID, epoch int64) (freed int, err error) {
	for first := 0; first < MaxShards; first += freeBatch {
		there := make([]*redis.IntCmd, freeBatch)
		_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i := range there {
				there[i] = p.Exists(ctx, s.keys(couponID, first+i, len(keySuffixes))...)
			}
			return nil
		})
		if err != nil {
			return freed, fmt.Errorf("%w: look for the shards of coupon %d: %w", order.ErrUnavailable, couponID, err)
		}
		for i, n := range there {
			if n.Val() == 0 {
				continue
			}
			answer, err := s.run(ctx, freeScript, couponID, first+i, epoch, s.deploymentID())
			if err != nil {
				return freed, err
			}
			if answer[0] == "OK" {
				freed++
			}
		}
	}
	return freed, nil
}
