package stock

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/order"
)

// AckMany is Ack for each of many entries, in one round trip; it returns as many errors.
func (q *Queue) AckMany(ctx context.Context, entries []order.Entry) []error {
	var b batch
	for i, e := range entries {
		b.add(i, run{couponID: e.Hold.CouponID, shard: e.Hold.Shard, epoch: e.Hold.Epoch}, e.ID)
	}
	all := make([]error, len(entries))
	q.stock.runMany(ctx, ackScript, b, func(i, _ int, _ []string, err error) { all[i] = err })
	return all
}

// AckCommittedMany is AckCommitted for each of many entries, in two round trips; it returns
// as many errors.
func (q *Queue) AckCommittedMany(ctx context.Context, entries []order.Entry) []error {
	all := q.AckMany(ctx, entries)
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

// PutUnresolvedMany is PutUnresolved for each of many orders, in one round trip; it returns
// as many errors.
func (s *Stock) PutUnresolvedMany(ctx context.Context, orders []order.Order) []error {
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
