package order

import (
	"context"
	"sync"
	"time"
)

// polls are the orders that were queued through this instance and have not ended yet. A poll of
// one is held for a moment, until this instance has committed it, and answered without a
// question to any store:
//
//	queued ─▶ polls ─▶ a poll waits ─▶ committed here ─▶ answered
//	                                └▶ a moment has passed ─▶ the stores are asked, as for any order
//
// An order that another instance commits is found in the database. What is answered is the
// order as it was committed while its poll waited: nothing is remembered for later polls, which
// could be told of an order from before its payment or its end. A poll is later, too, if it began
// while the order was being committed: others may have read it by then, and paid it.
type polls struct {
	held chan struct{} // a token for each poll that may be held besides

	mu  sync.Mutex
	all map[int64]*queuedHere // by order
}

type queuedHere struct {
	userID int64
	since  time.Time
	ended  chan struct{}

	// Once ended is closed:
	order Order
	from  time.Time // before it was committed, or read
}

const (
	// maxPollHold is how long a poll is held at most: a group commit or two.
	maxPollHold = 250 * time.Millisecond
	// maxPolls bounds the orders that are known. Others are read from the stores.
	maxPolls = 1 << 16
)

func newPolls(held int) *polls {
	p := &polls{held: make(chan struct{}, held), all: map[int64]*queuedHere{}}
	for range held {
		p.held <- struct{}{}
	}
	return p
}

// expect lets polls of a queued order wait for it.
func (p *polls) expect(o Order, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, known := p.all[o.ID]; !known && len(p.all) < maxPolls {
		p.all[o.ID] = &queuedHere{userID: o.UserID, since: now, ended: make(chan struct{})}
	}
}

// end answers the polls of an order that was committed, or read as it was, after from. Those that
// began later than from ask the stores.
func (p *polls) end(o Order, from time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if q := p.all[o.ID]; q != nil {
		q.order, q.from = o, from
		close(q.ended)
		delete(p.all, o.ID)
	}
}

// forget lets go of the orders that were queued before a time: they have ended elsewhere, or as
// no order.
func (p *polls) forget(before time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, q := range p.all {
		if q.since.Before(before) {
			delete(p.all, id)
		}
	}
}

// wait returns an order of the user that this instance commits in a moment, and false if it does
// not, or if the order is none of those.
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
