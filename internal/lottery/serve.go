package lottery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// winnersPerRead is how many tickets are read and queued at once, in the order of their ranks.
const winnersPerRead = 256

// serveRanked queues the tickets in the order of their ranks. It returns how many are served, and how many
// of them have rows, and are not queued any more; over reports whether no other is to be served. It looks
// for every row each time, because a database that was rolled back has lost some.
func (s *Service) serveRanked(
	ctx context.Context, sale coupon.Coupon, ranks ranking, closed bool,
) (served, decided int, over bool, err error) {
	for page := range slices.Chunk(ranks.all, winnersPerRead) {
		open, before, err := s.openTickets(ctx, sale.ID, page, ranks.served-served)
		if err != nil {
			return served, decided, false, err
		}
		n, over := 0, closed
		if !closed {
			n, over, err = s.servePage(ctx, sale, open, before)
		}
		if n < len(open) {
			first := slices.IndexFunc(page, func(r ranked) bool { return r.user == open[n].UserID }) // that is not served
			return served + first, decided + first - n, over, err
		}
		served, decided = served+len(page), decided+len(page)-len(open)
	}
	return served, decided, true, nil
}

// openTickets reads the tickets of a page of ranks, and returns the requests of those without rows, in the
// order of the ranks. before is how many of them
// are among the first served of the page.
func (s *Service) openTickets(
	ctx context.Context, couponID int64, page []ranked, served int,
) (open []order.Order, before int, err error) {
	users := make([]int64, len(page))
	for i, r := range page {
		users[i] = r.user
	}
	tickets, err := s.store.Entrants(ctx, couponID, users)
	if err != nil {
		return nil, 0, err
	}
	for i, user := range users {
		t, there := tickets[user]
		switch {
		case !there:
			return nil, 0, fmt.Errorf("%w: the ticket of user %d is gone", order.ErrUnavailable, user)
		case t.Decided:
		default:
			open = append(open, t.Order)
			if i < served {
				before++
			}
		}
	}
	return open, before, nil
}

// servePage queues the tickets of some requests without rows, in the order of their ranks. It returns how
// many, from the first, are queued; soldOut reports whether nothing was left for the next. The first
// before of them were queued before, and have their units.
//
// While there are units for all others each gets one, whatever the order of the requests: another drawer
// requests none but these and those before them. The last units go to one after the other.
func (s *Service) servePage(
	ctx context.Context, sale coupon.Coupon, tickets []order.Order, before int,
) (n int, soldOut bool, err error) {
	if len(tickets) == 0 {
		return 0, false, nil
	}
	left, err := s.left(ctx, sale)
	if err != nil {
		return 0, false, err
	}
	enough, together := left >= int64(len(tickets)-before), before
	if enough {
		together = len(tickets)
	}
	alone, err := s.serveTickets(ctx, sale, tickets[:together])
	if err != nil {
		return 0, false, err
	}
	for _, o := range slices.Concat(alone, tickets[together:]) {
		if err := s.serveTicket(ctx, sale, o); err != nil {
			n = slices.IndexFunc(tickets, func(t order.Order) bool { return t.RequestID == o.RequestID })
			switch {
			case errors.Is(err, coupon.ErrSoldOut):
				return n, !enough, nil
			case errors.Is(err, order.ErrBusy): // an earlier call is at a sibling, or its entry is
				return n, false, nil
			}
			return n, false, err
		}
	}
	return len(tickets), false, nil
}

// left returns the units in all shards.
func (s *Service) left(ctx context.Context, sale coupon.Coupon) (left int64, err error) {
	shards, err := s.stock.Left(ctx, sale.ID, sale.Shards)
	for _, units := range shards {
		left += units
	}
	return left, err
}

// serveTickets queues many tickets at once, and returns those that are to go individually.
func (s *Service) serveTickets(ctx context.Context, sale coupon.Coupon, tickets []order.Order) (alone []order.Order, err error) {
	if len(tickets) == 0 {
		return nil, nil
	}
	orders := make([]order.Order, len(tickets))
	for i, t := range tickets {
		if orders[i], err = s.orderOfTicket(ctx, sale, t); err != nil {
			return nil, err
		}
	}
	for i, err := range s.orders.Enqueue(ctx, sale, orders) {
		if err != nil {
			alone = append(alone, tickets[i])
		}
	}
	return alone, nil
}

// orderOfTicket returns the order of a ticket, with an id of its own for each attempt: another drawer may be
// at it.
func (s *Service) orderOfTicket(ctx context.Context, sale coupon.Coupon, t order.Order) (order.Order, error) {
	return s.orders.NewOrder(ctx, sale, t.UserID, t.RequestID)
}

// fullQueuePause is how long a full queue is waited for.
const fullQueuePause = 10 * time.Millisecond

// serveTicket queues the order of a ticket, again if it was queued before. It waits while the queue is full:
// the next may not be served before.
func (s *Service) serveTicket(ctx context.Context, sale coupon.Coupon, o order.Order) error {
	for empty := 0; ; {
		o, err := s.orderOfTicket(ctx, sale, o)
		if err != nil {
			return err
		}
		err = s.orders.Enqueue(ctx, sale, []order.Order{o})[0]
		switch {
		case errors.Is(err, coupon.ErrSoldOut):
			// Another drawer may have taken the last unit for this ticket a moment ago: then the next
			// answer says so.
			if empty++; empty == 2 {
				return err
			}
			continue
		case errors.Is(err, order.ErrOverloaded):
		case errors.Is(err, order.ErrDuplicate), errors.Is(err, order.ErrCommitUnknown), errors.Is(err, order.ErrVoided):
			return nil // its row is on its way, or there
		case errors.Is(err, order.ErrLimitReached), errors.Is(err, order.ErrCooldown), errors.Is(err, order.ErrKeyReused):
			if err := s.rows.Void(ctx, o); !errors.Is(err, order.ErrDuplicate) {
				return err
			}
			return nil
		case errors.Is(err, order.ErrStaleEpoch):
			s.sales.Forget(sale.ID)
			return err
		default:
			return err
		}
		select {
		case <-time.After(fullQueuePause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
