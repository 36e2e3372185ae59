package stock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// reserveOne takes one unit for a request that goes by itself, in one round trip while the home shard has units.
func (s *Stock) reserveOne(ctx context.Context, c order.ReserveRequest) (order.Hold, error) {
	home := coupon.Home(c.UserID, c.Shards)
	asked := s.limited.question()
	h, err := unmarked(s.reserve(ctx, c, home, refuseIfEmpty))
	s.limited.add(c, err, asked)
	if errors.Is(err, errEmpty) {
		return s.borrow(ctx, c, home)
	}
	return h, err
}

// unmarked refuses a request that is marked here: an earlier call is, or was cut off, at a
// sibling, and only that call knows at which.
func unmarked(h order.Hold, marked bool, err error) (order.Hold, error) {
	if marked {
		return order.Hold{}, order.ErrBusy
	}
	return h, err
}

// emptyShard tells reserve.lua how to go on where a shard is empty.
type emptyShard string

const (
	refuseIfEmpty emptyShard = "0"
	markIfEmpty   emptyShard = "1" // marks the buyer: the unit must come from a sibling
)

// reserve asks the home shard. marked reports whether it has marked the buyer.
func (s *Stock) reserve(ctx context.Context, c order.ReserveRequest, home int, empty emptyShard) (h order.Hold, marked bool, err error) {
	answers, err := s.run(ctx, reserveScript, c.CouponID, home, slices.Concat([]any{c.Epoch}, rulesOf(c, empty).common(), requestArgs(c))...)
	if err != nil {
		return order.Hold{}, false, err
	}
	return reserved(c, home, strings.Fields(answers[0]))
}

// rules are the arguments of reserve.lua that hold for all requests of a run. Other scripts have none: the zero value.
type rules struct {
	limit    int
	empty    emptyShard
	capacity int
	maxAge   time.Duration
}

func rulesOf(c order.ReserveRequest, empty emptyShard) rules {
	r := rules{limit: c.Limit, empty: empty, capacity: c.QueueCapacity, maxAge: maxAge(c)}
	if empty == markIfEmpty {
		r.maxAge = c.QueueMaxAge // a mark grows old soon if the call ends before a sibling lends; renewMark renews it
	}
	return r
}

// maxAge returns how long the entry of a request may wait.
func maxAge(c order.ReserveRequest) time.Duration { return max(c.QueueMaxAge, c.QueueUntilEnd) }

// common are the arguments of reserve.lua that are the same for all.
func (r rules) common() []any {
	if r == (rules{}) {
		return nil
	}
	return []any{r.limit, string(r.empty), r.capacity, r.maxAge.Milliseconds()}
}

// requestArgs are the arguments of reserve.lua for one request.
func requestArgs(c order.ReserveRequest) []any {
	return []any{c.RequestID, c.OrderID, c.UserID, encodeEntry(c)}
}

// reserved reads what reserve.lua answers a request.
func reserved(c order.ReserveRequest, home int, answer []string) (h order.Hold, marked bool, err error) {
	if len(answer) == 0 {
		return order.Hold{}, false, fmt.Errorf("%w: shard %d of coupon %d gave an empty answer", order.ErrUnavailable, home, c.CouponID)
	}
	if err := refusals[answer[0]]; err != nil {
		return order.Hold{}, false, err
	}
	if answer[0] == "COOLING" {
		return order.Hold{}, false, cooling(c, answer)
	}
	h, err = parseHeld(c, home, answer)
	if err != nil {
		return order.Hold{}, false, fmt.Errorf("hold of coupon %d: %w", c.CouponID, err)
	}
	return h, answer[0] == "MARKED", nil
}

// cooling is the refusal of a user who has given a unit back lately.
func cooling(c order.ReserveRequest, answer []string) error {
	if len(answer) == 2 {
		if ms, err := strconv.ParseInt(answer[1], 10, 64); err == nil {
			return &order.CooldownError{Remaining: time.Duration(ms) * time.Millisecond}
		}
	}
	return fmt.Errorf("hold of coupon %d: the answer %q", c.CouponID, answer)
}

// parseHeld reads the hold that an answer of a shard says there is.
func parseHeld(c order.ReserveRequest, shard int, answer []string) (order.Hold, error) {
	id, number, served, err := parseHeldOrder(answer)
	h := hold(c, id, shard)
	h.Queued, h.Number, h.Ahead = number > 0, number, max(0, number-1-served)
	return h, err
}

// parseHeldOrder reads the order that an answer says the hold is for, its number in the
// queue, which is 0 if it is in none, and how many entries have left that.
func parseHeldOrder(answer []string) (id, number, served int64, err error) {
	if len(answer) != 2 && len(answer) != 4 {
		return 0, 0, 0, fmt.Errorf("an answer of %d parts: %q", len(answer), answer)
	}
	for i, into := range []*int64{&id, &number, &served}[:len(answer)-1] {
		if *into, err = strconv.ParseInt(answer[i+1], 10, 64); err != nil {
			return 0, 0, 0, fmt.Errorf("the answer %q: %w", answer, err)
		}
	}
	return id, number, served, nil
}

// hold is the Hold that answers the ReserveRequest with a unit of the shard.
func hold(c order.ReserveRequest, orderID int64, shard int) order.Hold {
	return order.Hold{
		CouponID: c.CouponID, UserID: c.UserID, RequestID: c.RequestID, OrderID: orderID, Attempt: c.OrderID,
		Epoch: c.Epoch, Shards: c.Shards, Shard: shard,
	}
}

// confirmOne makes the hold history, at home and where the unit came from.
func (s *Stock) confirmOne(ctx context.Context, h order.Hold) error {
	return onShards(h, func(shard int) error {
		_, err := s.run(ctx, confirmScript, h.CouponID, shard, h.Epoch, h.OrderID)
		return err
	})
}

// releaseOne ends the attempt's share of the hold, and gives the unit back if it was
// the last; an Attempt of 0 ends all shares.
func (s *Stock) releaseOne(ctx context.Context, h order.Hold) error {
	return onShards(h, func(shard int) error {
		answers, err := s.run(ctx, releaseScript, h.CouponID, shard, h.Epoch, h.OrderID, h.Attempt)
		if err != nil {
			return err
		}
		return s.clearSoldOut(ctx, h.CouponID, strings.Fields(answers[0]))
	})
}

// onShards does something on the shard that the unit came from and on the home shard,
// where the buyer is accounted; mostly they are the same.
func onShards(h order.Hold, do func(shard int) error) error {
	err := do(h.Shard)
	if home := coupon.Home(h.UserID, h.Shards); home != h.Shard {
		err = errors.Join(err, do(home))
	}
	return err
}

// Restock puts the unit of an ended order back, once in effect.
func (s *Stock) Restock(ctx context.Context, r order.Restock) error {
	if r.Shards == 0 {
		return nil // there were none when it went back: a later loading has it
	}
	// The hold may still be open, if the instance died between commit and
	// confirmation. It is confirmed first, so that the unit is not counted twice.
	h := order.Hold{CouponID: r.CouponID, UserID: r.UserID, OrderID: r.OrderID, Epoch: r.Epoch, Shards: r.Shards, Shard: r.Shard}
	if err := s.confirmOne(ctx, h); err != nil {
		return err
	}
	home := coupon.Home(r.UserID, r.Shards)
	below := event{belowEvent, r.CouponID, r.UserID}
	answer, err := s.run(ctx, restockScript, r.CouponID, home,
		r.Epoch, r.OrderID, r.UserID, s.cooldown.Milliseconds(), s.prefix+channel, below.String())
	if err != nil {
		return err
	}
	if err := refusals[answer[0]]; err != nil {
		return err
	}
	s.limited.remove(buyer{r.CouponID, r.UserID})
	return s.clearSoldOut(ctx, r.CouponID, answer)
}
