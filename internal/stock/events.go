package stock

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"seckill/internal/order"
)

// channel carries what every instance should hear of soon. A message may be lost:
// a listener must also find out by itself within a second.
const channel = "events"

const (
	changedEvent   = "changed"
	restockedEvent = "returned"
)

// AnnounceChange tells every instance that the coupon has changed.
func (s *Stock) AnnounceChange(ctx context.Context, couponID int64) error {
	return s.announce(ctx, changedEvent, couponID)
}

// AnnounceRestock tells every instance that a sold-out coupon has a unit again.
func (s *Stock) AnnounceRestock(ctx context.Context, couponID int64) error {
	return s.announce(ctx, restockedEvent, couponID)
}

func (s *Stock) announce(ctx context.Context, event string, couponID int64) error {
	err := s.client.Publish(ctx, s.prefix+channel, encodeEvent(event, couponID)).Err()
	if err != nil {
		return fmt.Errorf("%w: announce: %w", order.ErrUnavailable, err)
	}
	return nil
}

func encodeEvent(event string, couponID int64) string {
	return event + " " + strconv.FormatInt(couponID, 10)
}

// parseEvent reads what encodeEvent wrote.
func parseEvent(text string) (event string, couponID int64, err error) {
	event, id, _ := strings.Cut(text, " ")
	if couponID, err = strconv.ParseInt(id, 10, 64); err != nil {
		return "", 0, fmt.Errorf("event %q: %w", text, err)
	}
	return event, couponID, nil
}

// clearSoldOut removes the coupon from the sold-out cache here, and in every instance if the
// shard was empty: only then can an instance have seen all shards empty.
func (s *Stock) clearSoldOut(ctx context.Context, couponID int64, answer []string) error {
	if len(answer) == 0 || answer[0] != "OK" {
		return nil
	}
	s.soldOut.clear(couponID)
	if len(answer) > 1 && answer[1] == "1" {
		return s.AnnounceRestock(ctx, couponID)
	}
	return nil
}

// Listen hears the announcements until ctx ends; changed is called for a coupon
// that has changed. The connection is made again by the client when it breaks.
func (s *Stock) Listen(ctx context.Context, changed func(couponID int64)) {
	sub := s.client.Subscribe(ctx, s.prefix+channel)
	defer func() { _ = sub.Close() }()
	messages := sub.Channel()
	for {
		select {
		case <-ctx.Done():
			return
		case m, ok := <-messages:
			if !ok {
				return
			}
			event, couponID, err := parseEvent(m.Payload)
			if err != nil {
				continue // not of this program, or of a later one
			}
			switch event {
			case changedEvent:
				changed(couponID)
			case restockedEvent:
				s.soldOut.clear(couponID)
			}
		}
	}
}
