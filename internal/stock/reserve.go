package stock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/coupon"
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

// rounds bounds how often a buyer runs after units that others take first.
const rounds = 4

// borrow finds a sibling that lends a unit:
//
//	read all counters ─▶ all empty: sold out
//	                  ─▶ mark the buyer at home ─▶ take from the fullest sibling, then the next
//	                  ─▶ every one was emptied meanwhile: take the mark away, and again
//
// The mark is there exactly while a sibling is asked. So a buyer who is refused
// leaves nothing behind, and one whose own home has a unit again gets that one.
func (s *Stock) borrow(ctx context.Context, c order.Claim, home int) (order.Hold, error) {
	for range rounds {
		lenders, err := s.lenders(ctx, c)
		if err != nil {
			return order.Hold{}, err
		}
		h, marked, err := s.reserve(ctx, c, home, true)
		if err != nil || !marked {
			return h, err
		}
		h, err = s.lend(ctx, c, home, lenders)
		if err == nil || errors.Is(err, order.ErrUnavailable) {
			return h, err // without an answer a unit may be lent: the mark stays for the settler
		}
		twice, left := s.unmark(ctx, c, home)
		switch {
		case left != nil || !errors.Is(err, errEmpty):
			return order.Hold{}, errors.Join(err, left)
		case twice:
			// The first sending may arrive yet, and would end whatever this attempt
			// holds at home by then.
			return order.Hold{}, order.ErrBusy
		}
	}
	return order.Hold{}, order.ErrBusy
}

// lend asks one sibling after the other, and the next only after a clear "empty",
// so that a lost answer cannot take two units. "Empty" is not clear if the sibling was
// asked twice: the first question may arrive yet, when it has a unit again.
func (s *Stock) lend(ctx context.Context, c order.Claim, home int, lenders []int) (order.Hold, error) {
	entry, err := entryText(c)
	if err != nil {
		return order.Hold{}, err
	}
	none := errEmpty
	for _, shard := range lenders {
		if shard == home {
			continue
		}
		answer, twice, err := s.runTwice(ctx, lendScript, c.CouponID, shard, c.Epoch, c.RequestID, c.OrderID, c.UserID, entry, c.Room)
		if err == nil {
			err = refusals[answer[0]]
		}
		refused := errors.Is(err, errEmpty) || errors.Is(err, order.ErrOverloaded)
		switch {
		case err == nil:
			return loan(c, shard, answer)
		case refused && twice:
			return order.Hold{}, fmt.Errorf("%w: whether shard %d of coupon %d lends is not known", order.ErrUnavailable, shard, c.CouponID)
		case !refused:
			return order.Hold{}, err
		case errors.Is(err, order.ErrOverloaded):
			none = err // it has units, and no room in its queue: that is not "sold out"
		}
	}
	return order.Hold{}, none
}

// loan is the hold on the unit that a sibling lends.
func loan(c order.Claim, shard int, answer []string) (order.Hold, error) {
	id, number, err := heldOrder(answer)
	if err != nil {
		return order.Hold{}, fmt.Errorf("%w: loan of shard %d of coupon %d: %w", order.ErrUnavailable, shard, c.CouponID, err)
	}
	h := hold(c, id, shard)
	h.Queued, h.Number = number > 0, number
	return h, nil
}

// unmarkWithin bounds taking a mark away, which is done for a buyer who has gone too.
const unmarkWithin = time.Second

// unmark takes the mark away, once every sibling that was asked has refused; twice
// says that it was sent a second time.
func (s *Stock) unmark(ctx context.Context, c order.Claim, home int) (twice bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unmarkWithin)
	defer cancel()
	answer, twice, err := s.runTwice(ctx, releaseScript, c.CouponID, home, c.Epoch, c.OrderID, c.OrderID)
	if err != nil {
		return twice, err
	}
	return twice, s.cameBack(ctx, c.CouponID, answer)
}

// lenders lists the shards that have units, the fullest first. When every shard was
// seen empty it is coupon.ErrSoldOut, and the flag is raised; a shard that could not
// be read was not seen empty.
func (s *Stock) lenders(ctx context.Context, c order.Claim) ([]int, error) {
	version := s.flags.version(c.CouponID)
	left, err := s.left(ctx, c.CouponID, c.Shards)
	var with []int
	for shard, units := range left {
		if units > 0 {
			with = append(with, shard)
		}
	}
	slices.SortStableFunc(with, func(a, b int) int { return cmp.Compare(left[b], left[a]) })
	switch {
	case len(with) > 0:
		return with, nil
	case err != nil:
		return nil, err
	}
	s.flags.raise(c.CouponID, c.Epoch, version)
	return nil, coupon.ErrSoldOut
}

// Left reads the units in each shard.
func (s *Stock) Left(ctx context.Context, couponID int64, shards int) ([]int64, error) {
	left, err := s.left(ctx, couponID, shards)
	if err != nil {
		return nil, err
	}
	return left, nil
}

// Open counts what is open in each shard: holds, and the marks of buyers whose unit a
// sibling lends.
func (s *Stock) Open(ctx context.Context, couponID int64, shards int) ([]int64, error) {
	cmds := make([]*redis.IntCmd, shards)
	_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for shard := range cmds {
			cmds[shard] = p.HLen(ctx, tag(couponID, shard)+"holds")
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%w: count the holds of coupon %d: %w", order.ErrUnavailable, couponID, err)
	}
	open := make([]int64, shards)
	for shard, cmd := range cmds {
		open[shard] = cmd.Val()
	}
	return open, nil
}

// left reads what can be read: with an error, the shards that could not be are 0.
func (s *Stock) left(ctx context.Context, couponID int64, shards int) ([]int64, error) {
	cmds := make([]*redis.StringCmd, shards)
	_, _ = s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for shard := range cmds {
			cmds[shard] = p.Get(ctx, tag(couponID, shard)+"stock")
		}
		return nil
	})
	left := make([]int64, shards)
	var failed error
	for shard, cmd := range cmds {
		units, err := cmd.Int64()
		switch {
		case errors.Is(err, redis.Nil):
			failed = cmp.Or(failed, coupon.ErrNotLoaded)
		case err != nil:
			failed = fmt.Errorf("%w: shard %d of coupon %d: %w", order.ErrUnavailable, shard, couponID, err)
		}
		left[shard] = units
	}
	return left, failed
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
