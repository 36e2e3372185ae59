package stock

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/order"
)

// Queues returns how full a coupon's queues are.
func (s *Stock) Queues(ctx context.Context, couponID int64, shards int) (order.QueueStats, error) {
	length, dead := make([]*redis.IntCmd, shards), make([]*redis.IntCmd, shards)
	oldest := make([]*redis.XMessageSliceCmd, shards)
	var now *redis.TimeCmd
	_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		now = p.Time(ctx)
		for k := range shards {
			length[k], dead[k] = p.XLen(ctx, s.tag(couponID, k)+"queue"), p.XLen(ctx, s.tag(couponID, k)+"dead")
			oldest[k] = p.XRangeN(ctx, s.tag(couponID, k)+"queue", "-", "+", 1)
		}
		return nil
	})
	if err != nil {
		return order.QueueStats{}, fmt.Errorf("%w: queues of coupon %d: %w", order.ErrUnavailable, couponID, err)
	}
	var w order.QueueStats
	for k := range shards {
		w.Entries += length[k].Val()
		w.DeadLetters += dead[k].Val()
		for _, m := range oldest[k].Val() {
			w.Oldest = max(w.Oldest, now.Val().Sub(queuedAt(m.ID)))
		}
	}
	return w, nil
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
