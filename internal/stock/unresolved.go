package stock

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// unresolvedTTL is longer than any doubt: the reconciler ends it within half a minute
// of the database's return.
const unresolvedTTL = time.Hour

func (s *Stock) unresolvedKey(orderID int64) string {
	return s.prefix + "ticket:" + strconv.FormatInt(orderID, 10)
}

// putUnresolvedOne keeps an order whose outcome is not known yet.
func (s *Stock) putUnresolvedOne(ctx context.Context, o order.Order) error {
	put := redis.NewStatusCmd(ctx, "set", s.unresolvedKey(o.ID), encodeOrder(o), "ex", seconds(unresolvedTTL))
	if err := s.scripter.Process(ctx, put); err != nil {
		return fmt.Errorf("%w: ticket of order %d: %w", order.ErrUnavailable, o.ID, err)
	}
	return nil
}

// Unresolved finds the order asked for, or order.ErrNotFound.
func (s *Stock) Unresolved(ctx context.Context, orderID int64) (order.Order, error) {
	got := redis.NewStringCmd(ctx, "get", s.unresolvedKey(orderID))
	switch err := s.scripter.Process(ctx, got); {
	case errors.Is(err, redis.Nil):
		return order.Order{}, order.ErrNotFound
	case err != nil:
		return order.Order{}, fmt.Errorf("%w: ticket of order %d: %w", order.ErrUnavailable, orderID, err)
	}
	return parseUnresolved(got.Val(), orderID)
}

// OrderOf implements order.Shards. The user's home shard knows the request, also if a sibling lends the unit.
func (s *Stock) OrderOf(ctx context.Context, sale coupon.Coupon, userID int64, requestID string) (int64, error) {
	if sale.Shards == 0 {
		return 0, order.ErrNotFound // it was never published
	}
	shard := coupon.Home(userID, sale.Shards)
	const requests = 5 // of keySuffixes
	got := redis.NewStringCmd(ctx, "hget", s.keys(sale.ID, shard, requests+1)[requests], requestID)
	switch err := s.scripter.Process(ctx, got); {
	case errors.Is(err, redis.Nil):
		return 0, order.ErrNotFound
	case err != nil:
		return 0, fmt.Errorf("%w: request of user %d for coupon %d: %w", order.ErrUnavailable, userID, sale.ID, err)
	}
	id, err := strconv.ParseInt(got.Val(), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("request of user %d for coupon %d: its order is %q", userID, sale.ID, got.Val())
	}
	return id, nil
}

func seconds(d time.Duration) int64 { return int64(d / time.Second) }

// parseUnresolved reads the ticket of an order.
func parseUnresolved(text string, orderID int64) (order.Order, error) {
	o, err := parseOrder(text)
	if err != nil {
		return order.Order{}, fmt.Errorf("ticket of order %d: %w", orderID, err)
	}
	if o.ID != orderID {
		return order.Order{}, fmt.Errorf("ticket of order %d: it is of order %d", orderID, o.ID)
	}
	return o, nil
}
