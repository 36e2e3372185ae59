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

// errTicketGone means that the database has lost a ticket that the ranking has.
var errTicketGone = errors.New("lottery: a ticket is gone")

// pass serves the tickets of a draw in the order of their ranks:
//
//	settled          served before           first served now
//	├── decided ──▶──├── void: once more ──▶──├── a unit each, up to those that were left at first ──▶ nothing is left
//
// A void ticket is served again before any later rank has its unit. The pass first reads how many units are left, and
// reads the rows after that. So it sees each void row whose unit it has counted, and gives later ranks only the rest. A
// unit that comes back later waits for the next pass.
//
// The pass looks at every row behind the settled ones each time, because a database that was rolled back has lost some.
type pass struct {
	*Service

	sale    coupon.Coupon
	draw    Draw
	ranking *ranking
	closed  bool        // nothing is served any more
	late    func() bool // whether the pass is to begin no further page

	units   int64 // how many may be given to ranks that were not served before
	room    int64 // how many further tickets the queue is to have
	bounded bool  // units are no more than the database has
	soldOut bool  // the database has had none since the pass before
	waiting bool  // a ticket that was served before waits for a unit, or has waited for too long
	blocked bool  // it waits: no later rank gets a unit

	served  int  // tickets, from the first rank on
	decided int  // of those that are served
	settled int  // whole pages of them, without one that is not decided
	all     bool // no other ticket is to be served
}

// unitTimeout is how long a ticket waits for the unit of its earlier attempt. The unit does not come back if the stock
// was lowered meanwhile.
const unitTimeout = 10 * time.Second

// run makes the pass. After an error, its results are those of the pages before.
func (p *pass) run(ctx context.Context) error {
	start := min(p.draw.DecidedRanks, len(p.ranking.all))
	p.served, p.decided, p.settled = start, start, start
	if !p.closed {
		var err error
		if p.units, err = p.left(ctx, p.sale); err != nil {
			return err
		}
		if enough, err := p.lookAtQueue(ctx, start); enough || err != nil {
			return err
		}
	}
	for rest := p.ranking.all[start:]; ; rest = p.ranking.all[p.served:] {
		if len(rest) == 0 {
			p.all = !p.blocked
			break
		}
		if p.served > start && p.late() {
			return nil
		}
		more, err := p.servePage(ctx, rest[:min(winnersPerRead, len(rest))])
		if err != nil {
			return err
		}
		if !more {
			break
		}
	}
	if !p.waiting {
		p.ranking.waitingSince = time.Time{}
	}
	return nil
}

// maxQueued is how many tickets a draw queues at most. A pass looks at every queued ticket again. So with this bound,
// and because a pass begins only when half of them are served, a draw reads each winner two or three times, however
// many there are.
const maxQueued = 8192

// lookAtQueue reads how many further tickets the queue is to have, and reports whether the workers have enough to do.
func (p *pass) lookAtQueue(ctx context.Context, start int) (enough bool, err error) {
	queue, err := p.queues.Queues(ctx, p.sale.ID, p.sale.Shards)
	p.room = p.maxQueued - queue.Entries
	return p.ranking.served > start && queue.Entries > p.maxQueued/2, err
}

// servePage serves the tickets of a page of ranks, and reports whether those of the next page are to be served.
func (p *pass) servePage(ctx context.Context, page []ranked) (more bool, err error) {
	open, err := p.openTickets(ctx, page)
	if err != nil {
		return false, err
	}
	n := 0
	if p.closed {
		p.all = len(open) > 0
	} else {
		n, err = p.serveOpen(ctx, open)
	}
	if n < len(open) {
		first := open[n].at // that is not served
		p.served, p.decided = p.served+first, p.decided+first-n
		return false, err
	}
	if len(open) == 0 && len(page) == winnersPerRead && p.settled == p.served {
		p.settled += len(page)
	}
	p.served, p.decided = p.served+len(page), p.decided+len(page)-len(open)
	return true, nil
}

// openTicket is a ticket of a page that is not decided.
type openTicket struct {
	Entrant

	at int // in the page
}

// openTickets reads the tickets of a page of ranks, and returns those that are not decided, in the order of the ranks.
func (p *pass) openTickets(ctx context.Context, page []ranked) (open []openTicket, err error) {
	users := make([]int64, len(page))
	for i, r := range page {
		users[i] = r.user
	}
	tickets, err := p.store.Entrants(ctx, p.sale.ID, users)
	if err != nil {
		return nil, err
	}
	for i, user := range users {
		t, there := tickets[user]
		switch {
		case !there:
			return nil, fmt.Errorf("%w: %w: that of user %d", order.ErrUnavailable, errTicketGone, user)
		case !t.Decided(p.sale.LimitPerUser):
			open = append(open, openTicket{t, i})
		}
	}
	return open, nil
}

// serveOpen queues open tickets of a page, in the order of their ranks, and returns how many, from the first, are
// queued.
func (p *pass) serveOpen(ctx context.Context, open []openTicket) (n int, err error) {
	before := 0 // the tickets up to here were served before: by this instance, or by another one if an attempt is void
	for i, t := range open {
		if p.served+t.at < p.ranking.served || t.Void {
			before = i + 1
		}
	}
	if n, err = p.serveAgain(ctx, open[:before]); n < before || err != nil {
		return n, err
	}
	if p.blocked {
		return before, nil
	}
	fresh := open[before:]
	if len(fresh) > 0 {
		if err := p.boundUnits(ctx, before); err != nil {
			return before, err
		}
	}
	enough := int(min(max(0, p.units), max(0, p.room), int64(len(fresh))))
	p.units, p.room = p.units-int64(enough), p.room-int64(enough)
	if n, err = p.serveFirst(ctx, fresh[:enough]); n < enough || err != nil {
		return before + n, err
	}
	if p.units > 0 && p.room <= 0 { // the next pass goes on
		return before + enough, nil
	}
	n, err = p.passServed(ctx, fresh[enough:])
	p.all = p.all || p.soldOut && enough+n < len(fresh)
	return before + enough + n, err
}

// boundUnits lowers the units of the pass, once, to those that the database has for ranks that were not served before.
// before is how many open tickets of this page were served. A Redis that came back with old data counts units that are
// sold. The workers commit the queued orders in no order, so a rank that is queued for such a unit can take the unit of
// an earlier rank.
//
// The units are read after the rows: an order that is committed between the two lowers both, and the next pass serves
// the rest.
func (p *pass) boundUnits(ctx context.Context, before int) error {
	if p.bounded {
		return nil
	}
	left, err := p.store.UnitsLeft(ctx, p.sale.ID)
	if err != nil {
		return err
	}
	p.bounded = true
	p.units = min(p.units, left-int64(p.served-p.decided+before))
	// The rows of this pass show each order that took one of the last units, if the pass before saw that none is left.
	p.soldOut = left == 0 && p.ranking.soldOut
	p.ranking.soldOut = left == 0
	return nil
}

// serveAgain queues tickets that were served before. Most are still queued. The unit of a void one may be on its way
// back.
func (p *pass) serveAgain(ctx context.Context, tickets []openTicket) (n int, err error) {
	for _, t := range tickets {
		if t.Attempt > 1 {
			p.units-- // of those that are left, unless the ticket has it already
		}
	}
	alone, err := p.serveTogether(ctx, tickets)
	if err != nil {
		return 0, err
	}
	for _, t := range alone {
		err := p.serveTicket(ctx, t)
		if errors.Is(err, coupon.ErrSoldOut) {
			p.awaitUnit()
			continue
		}
		if err != nil {
			return indexOf(tickets, t), unlessLater(err)
		}
	}
	return len(tickets), nil
}

// awaitUnit notes that a ticket waits for the unit of its earlier attempt. If it has waited for too long it gets none,
// and keeps no other ticket from being served.
func (p *pass) awaitUnit() {
	p.waiting = true
	if p.ranking.waitingSince.IsZero() {
		p.ranking.waitingSince = p.now()
	}
	if p.now().Sub(p.ranking.waitingSince) < unitTimeout {
		p.blocked = true
	} else {
		p.decided++
	}
}

// serveFirst queues tickets for the first time, for each of which there is a unit. Each gets one whatever the order of
// the requests.
func (p *pass) serveFirst(ctx context.Context, tickets []openTicket) (n int, err error) {
	alone, err := p.serveTogether(ctx, tickets)
	if err != nil {
		return 0, err
	}
	for _, t := range alone {
		if err := p.serveTicket(ctx, t); err != nil {
			if errors.Is(err, coupon.ErrSoldOut) { // another drawer has given the units to the ranks before
				err = errLater
			}
			return indexOf(tickets, t), unlessLater(err)
		}
	}
	return len(tickets), nil
}

// passServed passes over tickets that another drawer has served, and takes no unit. At the first other ticket it
// notes whether nothing is left.
func (p *pass) passServed(ctx context.Context, tickets []openTicket) (n int, err error) {
	for n < len(tickets) {
		err := p.checkTicket(ctx, tickets[n])
		if errors.Is(err, coupon.ErrSoldOut) {
			p.all = true
			return n, nil
		}
		if err != nil {
			return n, unlessLater(err)
		}
		if n++; n > 1 || len(tickets) < 2 {
			continue
		}
		orders, err := p.ordersOf(ctx, tickets[n:])
		if err != nil {
			return n, err
		}
		for _, err := range p.orders.CheckQueued(ctx, p.sale, orders) {
			if err != nil {
				break
			}
			n++
		}
	}
	return n, nil
}

func indexOf(tickets []openTicket, t openTicket) int {
	return slices.IndexFunc(tickets, func(o openTicket) bool { return o.at == t.at })
}

// errLater means that a ticket cannot be served in this pass.
var errLater = errors.New("lottery: later")

// unlessLater returns nil for an error after which the pass ends, and the next goes on.
func unlessLater(err error) error {
	if errors.Is(err, errLater) {
		return nil
	}
	return err
}

// left returns the units in all shards.
func (s *Service) left(ctx context.Context, sale coupon.Coupon) (left int64, err error) {
	shards, err := s.stock.Remaining(ctx, sale.ID, sale.Shards)
	for _, units := range shards {
		left += units
	}
	return left, err
}

// serveTogether queues many tickets at once, and returns those that are to go individually.
func (p *pass) serveTogether(ctx context.Context, tickets []openTicket) (alone []openTicket, err error) {
	if len(tickets) == 0 {
		return nil, nil
	}
	orders, err := p.ordersOf(ctx, tickets)
	if err != nil {
		return nil, err
	}
	for i, err := range p.orders.Enqueue(ctx, p.sale, orders) {
		if err != nil {
			alone = append(alone, tickets[i])
		}
	}
	return alone, nil
}

// ordersOf returns the orders of tickets, each with an id of its own for each attempt: another drawer may be at it.
func (p *pass) ordersOf(ctx context.Context, tickets []openTicket) ([]order.Order, error) {
	orders := make([]order.Order, len(tickets))
	for i, t := range tickets {
		var err error
		if orders[i], err = p.orders.NewOrder(ctx, p.sale, t.Order.UserID, t.RequestID()); err != nil {
			return nil, err
		}
	}
	return orders, nil
}

// serveTicket queues the order of a ticket, again if it was queued before. It returns errLater if the queue is full: no
// later rank may be served before this one.
func (p *pass) serveTicket(ctx context.Context, t openTicket) error {
	return p.ask(ctx, t, p.orders.Enqueue)
}

// checkTicket returns nil if the order of a ticket is queued, coupon.ErrSoldOut if no unit is left for it, and errLater
// if the next pass may give it one.
func (p *pass) checkTicket(ctx context.Context, t openTicket) error {
	return p.ask(ctx, t, p.orders.CheckQueued)
}

// ask does something with the order of a ticket, and returns nil if the ticket is served.
func (p *pass) ask(
	ctx context.Context, t openTicket, do func(context.Context, coupon.Coupon, []order.Order) []error,
) error {
	for try := 1; ; try++ {
		orders, err := p.ordersOf(ctx, []openTicket{t})
		if err != nil {
			return err
		}
		err = do(ctx, p.sale, orders)[0]
		switch {
		case errors.Is(err, coupon.ErrSoldOut) && try == 1:
			// Another drawer may have taken the last unit for this ticket a moment ago: then the next
			// answer says so.
			continue
		case errors.Is(err, order.ErrDuplicate), errors.Is(err, order.ErrCommitUnknown), errors.Is(err, order.ErrVoided):
			return nil // its row is on its way, or there
		case errors.Is(err, order.ErrLimitReached), errors.Is(err, order.ErrCooldown), errors.Is(err, order.ErrKeyReused):
			if err := p.rows.Void(ctx, orders[0]); !errors.Is(err, order.ErrDuplicate) {
				return err
			}
			return nil
		case errors.Is(err, order.ErrBusy): // an earlier call is at a sibling, or its entry is
			return errLater
		case errors.Is(err, order.ErrOverloaded):
			return errLater
		case errors.Is(err, order.ErrStaleEpoch):
			p.sales.Invalidate(p.sale.ID)
			return err
		}
		return err
	}
}
