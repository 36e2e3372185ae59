package stock

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

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
