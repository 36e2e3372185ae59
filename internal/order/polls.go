package order

import (
	"context"
	"sync"
	"time"
)

// polls has the orders that this instance has queued and that have not ended. The instance holds a poll of an order
// for a moment, until the instance has committed the order. It then answers the poll without a query to any store:
//
//	queued ─▶ polls ─▶ a poll waits ─▶ committed here ─▶ answered
//	                                └▶ a moment has passed ─▶ the stores are asked, as for any order
//
// If another instance commits the order, the poll finds the order in the database. The answer of a held poll is the
// order that was committed while the poll waited. The instance remembers no order for later polls. They could
// otherwise get an order from before its payment or its end. A poll that started during the commit is a later poll.
// Another client may have read and paid the order by then.
type polls struct {
	held chan struct{} // a token for each further poll that may be held

	mu  sync.Mutex
	all map[int64]*queuedHere // by order
}

type queuedHere struct {
	userID int64
	since  time.Time
	ended  chan struct{}

	// Valid once ended is closed:
	order Order
	from  time.Time // a moment before the order was committed, or read
}

const (
	// maxPollHold is the longest hold of a poll. It has time for one or two group commits.
	maxPollHold = 250 * time.Millisecond
	// maxPolls is the limit on the orders in polls. A poll of another order reads the stores.
	maxPolls = 1 << 16
)

func newPolls(held int) *polls {
	p := &polls{held: make(chan struct{}, held), all: map[int64]*queuedHere{}}
	for range held {
		p.held <- struct{}{}
	}
	return p
}

// expect lets polls of a queued order wait for its commit.
func (p *polls) expect(o Order, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, known := p.all[o.ID]; !known && len(p.all) < maxPolls {
		p.all[o.ID] = &queuedHere{userID: o.UserID, since: now, ended: make(chan struct{})}
	}
}

// end answers the polls of an order that was committed, or read, after from. A poll that started later than from
// queries the stores.
func (p *polls) end(o Order, from time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if q := p.all[o.ID]; q != nil {
		q.order, q.from = o, from
		close(q.ended)
		delete(p.all, o.ID)
	}
}

// forget removes the orders that were queued before a time. They have ended on another instance, or without an order.
func (p *polls) forget(before time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, q := range p.all {
		if q.since.Before(before) {
			delete(p.all, id)
		}
	}
}

// wait returns the order if this instance commits it in a moment. It returns false if the instance does not, or if the
// order is not in polls or not of the user.
func (p *polls) wait(ctx context.Context, id, userID int64) (Order, bool) {
	if p == nil {
		return Order{}, false
	}
	began := time.Now()
	p.mu.Lock()
	q := p.all[id]
	p.mu.Unlock()
	if q == nil || q.userID != userID {
		return Order{}, false
	}
	select {
	case <-p.held:
		defer func() { p.held <- struct{}{} }()
	default:
		return Order{}, false
	}
	enough := time.NewTimer(maxPollHold)
	defer enough.Stop()
	select {
	case <-q.ended:
		return q.order, began.Before(q.from)
	case <-enough.C:
	case <-ctx.Done():
	}
	return Order{}, false
}
