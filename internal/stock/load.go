package stock

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"seckill/internal/coupon"
	"seckill/internal/order"
)

// chunk is how many buyers one command carries.
const chunk = 500

// Load puts an epoch's units and buyers into the shards and opens them:
//
//	clear every shard (closed) ─▶ note the buyers ─▶ open every shard
//
// How many shards there are is in the database's row, and changes with the epoch only.
// An instance that believes in another number is of an older epoch, and sells nothing.
// A shard that has the epoch or a newer one is left as it is. A crash leaves shards
// without a counter, which is "not loaded" and never "sold out".
func (s *Stock) Load(ctx context.Context, l coupon.Load) error {
	for shard := range l.Shards {
		if err := s.load(ctx, clearScript, l, shard); err != nil {
			return err
		}
	}
	if err := s.loadBuyers(ctx, l); err != nil {
		return err
	}
	for shard := range l.Shards {
		if err := s.load(ctx, openScript, l, shard, Share(l.Units, l.Shards, shard)); err != nil {
			return err
		}
	}
	s.flags.lower(l.CouponID)
	return s.AnnounceReturn(ctx, l.CouponID)
}

// Share is the part of the units that a shard gets: all shares differ by one at most.
func Share(units int64, shards, shard int) int64 {
	share := units / int64(shards)
	if int64(shard) < units%int64(shards) {
		share++
	}
	return share
}

func (s *Stock) loadBuyers(ctx context.Context, l coupon.Load) error {
	at := make([][]any, l.Shards)
	flush := func(shard int) error {
		args := at[shard]
		at[shard] = nil
		return s.load(ctx, buyersScript, l, shard, args...)
	}
	for user, units := range l.Buyers {
		shard := Home(user, l.Shards)
		if at[shard] = append(at[shard], user, units); len(at[shard]) == 2*chunk {
			if err := flush(shard); err != nil {
				return err
			}
		}
	}
	for shard := range at {
		if len(at[shard]) > 0 {
			if err := flush(shard); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Stock) load(ctx context.Context, sc script, l coupon.Load, shard int, args ...any) error {
	answer, err := s.run(ctx, sc, l.CouponID, shard, append([]any{l.Epoch}, args...)...)
	if err != nil {
		return err
	}
	// A repeated call after a lost answer finds its own epoch: only a newer one is news.
	if answer[0] == "OLDER" && sc != clearScript {
		return fmt.Errorf("%w: a newer epoch than %d of coupon %d was begun", coupon.ErrConflict, l.Epoch, l.CouponID)
	}
	return nil
}

// Loaded says whether every shard is open with the epoch, on the server that it was
// loaded on. All are asked at once; one that does not answer is an error, whatever
// the others say.
func (s *Stock) Loaded(ctx context.Context, couponID, epoch int64, shards int) (bool, error) {
	answers := make([]*redis.Cmd, shards)
	_, _ = s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for shard := range answers {
			answers[shard] = loadedScript.Eval(ctx, p, keys(couponID, shard, loadedScript.keys), epoch)
		}
		return nil
	})
	loaded := shards > 0
	for shard, answer := range answers {
		said, err := answer.Text()
		if err != nil {
			return false, fmt.Errorf("%w: shard %d of coupon %d: %w", order.ErrUnavailable, shard, couponID, err)
		}
		loaded = loaded && said == "YES"
	}
	return loaded, nil
}
