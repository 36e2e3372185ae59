package stock

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// Queues returns how full a coupon's queues are.
func (s *Stock) Queues(ctx context.Context, couponID int64, shards int) (order.QueueStats, error) {
	stats, errs := s.QueuesAll(ctx, []coupon.Coupon{{ID: couponID, Shards: shards}})
	return stats[0], errs[0]
}

// QueuesAll is Queues for many coupons, in few round trips.
func (s *Stock) QueuesAll(ctx context.Context, all []coupon.Coupon) (stats []order.QueueStats, errs []error) {
	stats, errs = make([]order.QueueStats, len(all)), make([]error, len(all))
	for trip := range slices.Chunk(shardsOf(all), shardsPerTrip) {
		length, dead := make([]*redis.IntCmd, len(trip)), make([]*redis.IntCmd, len(trip))
		oldest := make([]*redis.XMessageSliceCmd, len(trip))
		var now *redis.TimeCmd
		_, _ = s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
			now = p.Time(ctx)
			for n, at := range trip {
				tag := s.tag(all[at.coupon].ID, at.shard)
				length[n], dead[n] = p.XLen(ctx, tag+"queue"), p.XLen(ctx, tag+"dead")
				oldest[n] = p.XRangeN(ctx, tag+"queue", "-", "+", 1)
			}
			return nil
		})
		for n, at := range trip {
			w := &stats[at.coupon]
			if err := cmp.Or(now.Err(), length[n].Err(), dead[n].Err(), oldest[n].Err()); err != nil {
				*w, errs[at.coupon] = order.QueueStats{}, fmt.Errorf("%w: queues of coupon %d: %w", order.ErrUnavailable, all[at.coupon].ID, err)
				continue
			}
			w.Entries += length[n].Val()
			w.DeadLetters += dead[n].Val()
			for _, m := range oldest[n].Val() {
				w.Oldest = max(w.Oldest, now.Val().Sub(queuedAt(m.ID)))
			}
		}
	}
	return stats, errs
}

// queuedAt returns the time in the id of an entry, by the server's clock.
func queuedAt(id string) time.Time {
	ms, _, _ := strings.Cut(id, "-")
	n, err := strconv.ParseInt(ms, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(n)
}

// QueuedOrders returns the orders that have an entry in the queue of a shard, read a page at a
// time.
func (s *Stock) QueuedOrders(ctx context.Context, couponID int64, shard int) (map[int64]bool, error) {
	all := map[int64]bool{}
	for after := "-"; ; {
		found, err := s.client.XRangeN(ctx, s.tag(couponID, shard)+"queue", after, "+", pageSize).Result()
		if err != nil {
			return nil, fmt.Errorf("%w: queue of shard %d of coupon %d: %w", order.ErrUnavailable, shard, couponID, err)
		}
		for _, m := range found {
			var p parser
			all[p.number(messageField(m, "order"))] = true
			after = "(" + m.ID
		}
		if len(found) < pageSize {
			return all, nil
		}
	}
}
