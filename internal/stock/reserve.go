package stock

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"seckill/internal/order"
)

// Reserve takes one unit for the request: one round trip while the home shard has
// some. order.Stock tells the errors.
func (s *Stock) Reserve(ctx context.Context, c order.Claim) (order.Hold, error) {
	home := Home(c.UserID, c.Shards)
	h, marked, err := s.reserve(ctx, c, home, false)
	switch {
	case errors.Is(err, errEmpty):
		return s.borrow(ctx, c, home)
	case marked: // an earlier call is, or was cut off, at a sibling: nobody else knows at which
		return order.Hold{}, order.ErrBusy
	}
	return h, err
}

// reserve asks the home shard. With borrow, an empty shard marks the buyer, and
// marked says that the unit must come from a sibling.
func (s *Stock) reserve(ctx context.Context, c order.Claim, home int, borrow bool) (h order.Hold, marked bool, err error) {
	flag := "0"
	if borrow {
		flag = "1"
	}
	entry, err := entryText(c)
	if err != nil {
		return order.Hold{}, false, err
	}
	answer, err := s.run(ctx, reserveScript, c.CouponID, home,
		c.Epoch, c.RequestID, c.OrderID, c.UserID, c.Limit, flag, entry, c.Room)
	if err != nil {
		return order.Hold{}, false, err
	}
	if err := refusals[answer[0]]; err != nil {
		return order.Hold{}, false, err
	}
	id, number, err := heldOrder(answer)
	if err != nil {
		return order.Hold{}, false, fmt.Errorf("hold of coupon %d: %w", c.CouponID, err)
	}
	h = hold(c, id, home)
	h.Queued, h.Number = number > 0, number
	return h, answer[0] == "MARKED", nil
}

// heldOrder reads the order that an answer says the hold is for, and its number in the
// queue, which is 0 if it is in none.
func heldOrder(answer []string) (id, number int64, err error) {
	if len(answer) != 2 && len(answer) != 3 {
		return 0, 0, fmt.Errorf("an answer of %d parts: %q", len(answer), answer)
	}
	if id, err = strconv.ParseInt(answer[1], 10, 64); err == nil && len(answer) == 3 {
		number, err = strconv.ParseInt(answer[2], 10, 64)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("the answer %q: %w", answer, err)
	}
	return id, number, nil
}

// hold is the Hold that answers the Claim with a unit of the shard.
func hold(c order.Claim, orderID int64, shard int) order.Hold {
	return order.Hold{
		CouponID: c.CouponID, UserID: c.UserID, RequestID: c.RequestID, OrderID: orderID, Attempt: c.OrderID,
		Epoch: c.Epoch, Shards: c.Shards, Shard: shard,
	}
}

// Confirm makes the hold history, at home and where the unit came from.
func (s *Stock) Confirm(ctx context.Context, h order.Hold) error {
	return s.each(h, func(shard int) error {
		_, err := s.run(ctx, confirmScript, h.CouponID, shard, h.Epoch, h.OrderID)
		return err
	})
}

// Release ends the attempt's share of the hold, and gives the unit back if it was
// the last; an Attempt of 0 ends all shares.
func (s *Stock) Release(ctx context.Context, h order.Hold) error {
	return s.each(h, func(shard int) error {
		answer, err := s.run(ctx, releaseScript, h.CouponID, shard, h.Epoch, h.OrderID, h.Attempt)
		if err != nil {
			return err
		}
		return s.cameBack(ctx, h.CouponID, answer)
	})
}

// each does something on the shard that the unit came from and on the home shard,
// where the buyer is accounted; mostly they are the same.
func (s *Stock) each(h order.Hold, do func(shard int) error) error {
	err := do(h.Shard)
	if home := Home(h.UserID, h.Shards); home != h.Shard {
		err = errors.Join(err, do(home))
	}
	return err
}

// Return puts the unit of an ended order back, once in effect.
func (s *Stock) Return(ctx context.Context, r order.Return) error {
	// The hold may still be open, if the instance died between commit and
	// confirmation. It is confirmed first, so that the unit is not counted twice.
	h := order.Hold{CouponID: r.CouponID, UserID: r.UserID, OrderID: r.OrderID, Epoch: r.Epoch, Shards: r.Shards, Shard: r.Shard}
	if err := s.Confirm(ctx, h); err != nil {
		return err
	}
	answer, err := s.run(ctx, returnScript, r.CouponID, Home(r.UserID, r.Shards), r.Epoch, r.OrderID, r.UserID)
	if err != nil {
		return err
	}
	if err := refusals[answer[0]]; err != nil {
		return err
	}
	return s.cameBack(ctx, r.CouponID, answer)
}
