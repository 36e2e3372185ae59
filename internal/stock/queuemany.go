package stock

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/order"
)

// ackMany acknowledges entries in one round trip. It returns one error per entry.
func (q *Queue) ackMany(ctx context.Context, entries []order.Entry) []error {
	var b batch
	for i, e := range entries {
		b.add(i, run{couponID: e.Hold.CouponID, shard: e.Hold.Shard, epoch: e.Hold.Epoch}, e.ID)
	}
	all := make([]error, len(entries))
	q.stock.runMany(ctx, ackScript, b, func(i, _ int, _ []string, err error) { all[i] = err })
	return all
}

// AckCommitted implements order.Queue, in two round trips.
func (q *Queue) AckCommitted(ctx context.Context, entries []order.Entry) []error {
	if len(entries) == 1 {
		return []error{q.ackCommittedOne(ctx, entries[0])}
	}
	all := q.ackMany(ctx, entries)
	_, _ = q.stock.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, e := range entries {
			if all[i] == nil {
				p.Expire(ctx, q.stock.unresolvedKey(e.Hold.OrderID), resolvedTTL)
			}
		}
		return nil
	})
	return all
}

// PutUnresolved implements order.Shards, in one round trip.
func (s *Stock) PutUnresolved(ctx context.Context, orders []order.Order) []error {
	if len(orders) == 1 {
		return []error{s.putUnresolvedOne(ctx, orders[0])}
	}
	puts := make([]*redis.StatusCmd, len(orders))
	_, _ = s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, o := range orders {
			puts[i] = p.Set(ctx, s.unresolvedKey(o.ID), encodeOrder(o), unresolvedTTL)
		}
		return nil
	})
	all := make([]error, len(orders))
	for i, put := range puts {
		if err := put.Err(); err != nil {
			all[i] = fmt.Errorf("%w: ticket of order %d: %w", order.ErrUnavailable, orders[i].ID, err)
		}
	}
	return all
}
