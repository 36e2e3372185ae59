package chaos

import (
	"context"
	"fmt"
)

// evictions are the keys of a loaded shard, each deleted alone while the crowd comes, as a
// Redis that evicts does; and of those that all shards have in common.
func evictions() []Fault {
	var all []Fault
	for _, part := range []string{"stock", "meta", "holds", "open", "buyers", "requests", "returned", "ages", "queue"} {
		all = append(all, Fault{Name: "evicted:" + part, kind: plain, queue: part == "queue", harm: evicted(func(r *round) string {
			return fmt.Sprintf("seckill:{%s:%d}:%s", r.coupon, r.rng.IntN(shards), part)
		})})
	}
	for _, common := range [][2]string{{"fences", "seckill:{lock:*}:fence"}, {"owner", "seckill:{fleet}:owner"}} {
		all = append(all, Fault{Name: "evicted:" + common[0], kind: plain, harm: evicted(func(*round) string { return common[1] })})
	}
	return all
}

// evicted deletes the keys of a pattern.
func evicted(pattern func(r *round) string) func(ctx context.Context, r *round) (bool, error) {
	return func(ctx context.Context, r *round) (bool, error) {
		keys := pattern(r)
		r.onTheWay(ctx, 10+r.rng.IntN(70))
		all, err := r.env.rdb.Keys(ctx, keys).Result()
		if err != nil {
			return false, fmt.Errorf("look for keys: %w", err)
		}
		gone := int64(0)
		if len(all) > 0 {
			if gone, err = r.env.rdb.Del(ctx, all...).Result(); err != nil {
				return false, fmt.Errorf("evict keys: %w", err)
			}
		}
		return gone > 0, nil
	}
}
