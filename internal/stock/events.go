package stock

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"example.com/seckill/internal/order"
)

// channel carries what every instance should hear of soon. A message may be lost:
// a listener must also find out by itself within a second.
const channel = "events"

const (
	changedEvent   = "changed"
	restockedEvent = "returned"
	belowEvent     = "below" // the limit is a user, who is named after the coupon; restock.lua says so
)

// AnnounceChange tells every instance that the coupon has changed.
func (s *Stock) AnnounceChange(ctx context.Context, couponID int64) error {
	return s.announce(ctx, event{what: changedEvent, couponID: couponID})
}

// AnnounceRestock tells every instance that a sold-out coupon has a unit again.
func (s *Stock) AnnounceRestock(ctx context.Context, couponID int64) error {
	return s.announce(ctx, event{what: restockedEvent, couponID: couponID})
}

// event is what is announced of a coupon.
type event struct {
	what     string
	couponID int64
	userID   int64 // 0 if it is of no user
}

func (s *Stock) announce(ctx context.Context, e event) error {
	if err := s.client.Publish(ctx, s.prefix+channel, e.String()).Err(); err != nil {
		return fmt.Errorf("%w: announce: %w", order.ErrUnavailable, err)
	}
	return nil
}

// String returns what parseEvent reads.
func (e event) String() string {
	text := e.what + " " + strconv.FormatInt(e.couponID, 10)
	if e.userID != 0 {
		text += " " + strconv.FormatInt(e.userID, 10)
	}
	return text
}

func parseEvent(text string) (e event, err error) {
	what, ids, _ := strings.Cut(text, " ")
	couponID, userID, of := strings.Cut(ids, " ")
	e.what = what
	if e.couponID, err = strconv.ParseInt(couponID, 10, 64); err == nil && of {
		e.userID, err = strconv.ParseInt(userID, 10, 64)
	}
	if err != nil {
		return event{}, fmt.Errorf("event %q: %w", text, err)
	}
	return e, nil
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
			e, err := parseEvent(m.Payload)
			if err != nil {
				continue // not of this program, or of a later one
			}
			switch e.what {
			case changedEvent:
				changed(e.couponID)
			case restockedEvent:
				s.soldOut.clear(e.couponID)
			case belowEvent:
				s.limited.remove(buyer{e.couponID, e.userID})
			}
		}
	}
}
