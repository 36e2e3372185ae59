package stock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// maxBorrowAttempts is the limit on the attempts of a request to borrow a unit, if other requests take the units first.
const maxBorrowAttempts = 4

// borrow finds a sibling that lends a unit to a buyer:
//
//	read all counters ─▶ all empty: sold out
//	                  ─▶ mark the buyer at home ─▶ take from the fullest sibling, then the next
//	                  ─▶ every one was emptied meanwhile: take the mark away, and again
//
// The mark exists only while borrow calls the siblings, and after a loan that has or may have happened. So the request
// of a rejected buyer leaves nothing behind. If the home shard has a unit again, the buyer gets this unit.
func (s *Stock) borrow(ctx context.Context, c order.ReserveRequest, home int) (order.Hold, error) {
	for range maxBorrowAttempts {
		lenders, err := s.lenders(ctx, c)
		if err != nil {
			return order.Hold{}, err
		}
		h, marked, err := s.reserve(ctx, c, home, markIfEmpty)
		if err != nil || !marked {
			return h, err
		}
		h, err = s.lend(ctx, c, home, lenders)
		if err == nil {
			s.renewMark(ctx, c, home)
		}
		if err == nil || errors.Is(err, order.ErrUnavailable) {
			return h, err // if the answer is lost, a unit may be lent: the mark stays for the reconciler
		}
		twice, left := s.unmark(ctx, c, home)
		switch {
		case left != nil || !errors.Is(err, errEmpty):
			return order.Hold{}, errors.Join(err, left)
		case twice:
			// The first command to release the mark may still arrive. It would end any later hold of
			// this attempt on the home shard.
			return order.Hold{}, order.ErrBusy
		}
	}
	return order.Hold{}, order.ErrBusy
}

// lend calls the siblings one after the other. It calls the next sibling only after a definite "empty", so that a lost
// answer cannot take two units. "Empty" is not definite if lend sent the command twice. The first command may still
// arrive when the sibling has a unit again.
func (s *Stock) lend(ctx context.Context, c order.ReserveRequest, home int, lenders []int) (order.Hold, error) {
	none, entry := errEmpty, encodeEntry(c)
	for _, shard := range lenders {
		if shard == home {
			continue
		}
		answer, twice, err := s.runWithRetry(ctx, lendScript, c.CouponID, shard,
			c.Epoch, c.RequestID, c.OrderID, c.UserID, entry, c.QueueCapacity, maxAge(c).Milliseconds())
		if err == nil {
			err = refusals[answer[0]]
		}
		refused := errors.Is(err, errEmpty) || errors.Is(err, order.ErrOverloaded)
		switch {
		case err == nil:
			return lentHold(c, shard, answer)
		case refused && twice:
			return order.Hold{}, fmt.Errorf("%w: whether shard %d of coupon %d lends is not known", order.ErrUnavailable, shard, c.CouponID)
		case !refused:
			return order.Hold{}, err
		case errors.Is(err, order.ErrOverloaded):
			none = err // the sibling has units and no room in its queue: this is not "sold out"
		}
	}
	return order.Hold{}, none
}

// lentHold returns the hold on the unit that a sibling has lent.
func lentHold(c order.ReserveRequest, shard int, answer []string) (order.Hold, error) {
	h, err := parseHeld(c, shard, answer)
	if err != nil {
		return order.Hold{}, fmt.Errorf("%w: loan of shard %d of coupon %d: %w", order.ErrUnavailable, shard, c.CouponID, err)
	}
	return h, nil
}

// renewMark keeps the mark of a buyer young for as long as the entry at the sibling may wait. Otherwise the reconciler
// would end the request while its entry waits. If the call fails, the mark grows old and the reconciler ends the
// request. The request then becomes void, and its unit comes back.
func (s *Stock) renewMark(ctx context.Context, c order.ReserveRequest, home int) {
	if c.QueueUntilEnd <= c.QueueMaxAge {
		return
	}
	r := rulesOf(c, markIfEmpty)
	r.maxAge = maxAge(c)
	_, _ = s.run(ctx, reserveScript, c.CouponID, home, slices.Concat([]any{c.Epoch}, r.common(), requestArgs(c))...)
}

// defaultUnmarkTimeout bounds the call of unmark. The call is also made for a buyer who has disconnected.
const defaultUnmarkTimeout = time.Second

// unmark removes the mark after every sibling that lend called has answered without a unit. The result twice reports
// whether the command was sent a second time.
func (s *Stock) unmark(ctx context.Context, c order.ReserveRequest, home int) (twice bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.unmarkTimeout)
	defer cancel()
	answers, twice, err := s.runWithRetry(ctx, releaseScript, c.CouponID, home, c.Epoch, c.OrderID, c.OrderID)
	if err != nil {
		return twice, err
	}
	return twice, s.clearSoldOut(ctx, c.CouponID, strings.Fields(answers[0]))
}

// lenders returns the shards that have units, the fullest first. If it read every shard and all were empty, it adds the
// coupon to the sold-out cache and returns coupon.ErrSoldOut. A shard that it cannot read does not count as empty.
func (s *Stock) lenders(ctx context.Context, c order.ReserveRequest) ([]int, error) {
	version := s.soldOut.version(c.CouponID)
	left, err := s.Remaining(ctx, c.CouponID, c.Shards)
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
	s.soldOut.add(c.CouponID, c.Epoch, version)
	return nil, coupon.ErrSoldOut
}
