package stock

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/order"
)

// ticketLasts is longer than any doubt: the settler ends it within half a minute
// of the database's return.
const ticketLasts = time.Hour

func ticketKey(orderID int64) string { return "seckill:ticket:" + strconv.FormatInt(orderID, 10) }

// PutTicket remembers an order whose outcome is not known yet.
func (s *Stock) PutTicket(ctx context.Context, o order.Order) error {
	text, err := json.Marshal(o) //nolint:musttag // written and read here alone
	if err != nil {
		return fmt.Errorf("ticket of order %d: %w", o.ID, err)
	}
	if err := s.client.Set(ctx, ticketKey(o.ID), text, ticketLasts).Err(); err != nil {
		return fmt.Errorf("%w: ticket of order %d: %w", order.ErrUnavailable, o.ID, err)
	}
	return nil
}

// Ticket finds the order asked for, or order.ErrNotFound.
func (s *Stock) Ticket(ctx context.Context, orderID int64) (order.Order, error) {
	text, err := s.client.Get(ctx, ticketKey(orderID)).Bytes()
	switch {
	case errors.Is(err, redis.Nil):
		return order.Order{}, order.ErrNotFound
	case err != nil:
		return order.Order{}, fmt.Errorf("%w: ticket of order %d: %w", order.ErrUnavailable, orderID, err)
	}
	return parseTicket(text, orderID)
}

// parseTicket reads the ticket of an order.
func parseTicket(text []byte, orderID int64) (order.Order, error) {
	var o order.Order
	if err := json.Unmarshal(text, &o); err != nil { //nolint:musttag // as above
		return order.Order{}, fmt.Errorf("ticket of order %d: %q: %w", orderID, text, err)
	}
	if o.ID != orderID {
		return order.Order{}, fmt.Errorf("ticket of order %d: it is of order %d", orderID, o.ID)
	}
	return o, nil
}
