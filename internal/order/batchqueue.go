package order

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"example.com/seckill/internal/coupon"
)

// BatchCommitter is a Committer that also commits many orders in one transaction.
type BatchCommitter interface {
	Committer
	// PlaceMany is Place for each of many orders of different users. It returns as many
	// results, in their order. An order is refused with ErrAlone, and nothing of it is written,
	// if the error may be another's, if its request has an order already, or if the database
	// has seen a larger fence: Place finds out.
	PlaceMany(ctx context.Context, many []Placement) []Placed
}

// Placed is what PlaceMany returns for one of its orders.
type Placed struct {
	Slot int
	Err  error
}

// batchesAtOnce is how many batches are under way at most: one is reserved and locked
// while another is committed. When the second begins, mayBegin says.
const batchesAtOnce = 2

// lookEvery is how late an order that waits for a batch may hear that its time is over.
const lookEvery = 20 * time.Millisecond

// batch is orders that are placed together.
type batch []*member

// member is an order on its way through a batch. Until left is closed, its fields but ctx
// belong to the batch.
type member struct {
	ctx   context.Context //nolint:containedctx // it is the waiting request's
	sale  coupon.Coupon
	order Order
	hold  Hold

	next step  // what is left to do after the batch
	err  error // of the steps before
	left chan struct{}
}

// step is a step of place.go with which an order goes on alone.
type step uint8

const (
	toAnswer  step = iota
	toReserve      // nothing was done
	toSell         // it has a hold, and nothing was written
	toClose        // its outcome is known, or is to stay unknown
)

// leave takes m out of its batch: its request goes on with a step.
func (m *member) leave(next step, err error) {
	m.next, m.err = next, err
	close(m.left)
}

// context returns the context of a batch. It ends with the deadline of the order that has the
// earliest, and not when a request is cancelled. It has the values of one of the requests.
func (b batch) context() (context.Context, context.CancelFunc) {
	ctx := context.WithoutCancel(b[0].ctx)
	var earliest time.Time
	for _, m := range b {
		if until, bounded := m.ctx.Deadline(); bounded && (earliest.IsZero() || until.Before(earliest)) {
			earliest = until
		}
	}
	if earliest.IsZero() {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, earliest)
}

// requests returns what b asks the shards for.
func (b batch) requests(of func(Order, coupon.Coupon) ReserveRequest) []ReserveRequest {
	all := make([]ReserveRequest, len(b))
	for i, m := range b {
		all[i] = of(m.order, m.sale)
		all[i].Context = m.ctx //nolint:fatcontext // each member has its own
	}
	return all
}

// batcher makes batches of the orders that wait. Its workers end when none does.
type batcher struct {
	committer BatchCommitter
	size      int           // of a batch at most
	least     time.Duration // what an order must have left of its time, to share a batch
	place     func(batch)

	mu       sync.Mutex
	waiting  batch
	workers  int
	underWay int  // orders in batches
	looking  bool // at those that wait, from time to time
}

// takes reports whether an order with this context may share a batch. One with little time
// left would end the others' time.
func (b *batcher) takes(ctx context.Context) bool {
	if b == nil {
		return false
	}
	until, bounded := ctx.Deadline()
	return !bounded || time.Until(until) >= b.least
}

// join blocks until m has left its batch, or those that wait for one: with ErrUnavailable, if its
// context has ended.
func (b *batcher) join(m *member) {
	b.mu.Lock()
	b.waiting = append(b.waiting, m)
	begins := b.mayBegin()
	if begins {
		b.workers++
	}
	if !b.looking {
		b.looking = true
		time.AfterFunc(lookEvery, b.look)
	}
	b.mu.Unlock()
	if begins {
		go b.work()
	}
	<-m.left // in a batch the steps end with its time, which is not later than that of m
}

// look lets go those that wait and whose context has ended, and looks again while any wait. A batch takes some
// milliseconds, and a timer for each order would cost more than all of its waiting.
func (b *batcher) look() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting = slices.DeleteFunc(b.waiting, func(m *member) bool {
		err := m.ctx.Err()
		if err != nil {
			m.leave(toAnswer, fmt.Errorf("%w: waiting for a batch: %w", ErrUnavailable, err))
		}
		return err != nil
	})
	if b.looking = len(b.waiting) > 0; b.looking {
		time.AfterFunc(lookEvery, b.look)
	}
}

// mayBegin reports whether one more worker may begin a batch: the first always, and the second when as many
// orders wait as are under way. A batch costs as much as several orders whatever its size, so small ones beside
// others would take the processors from those that are larger by waiting for each other.
func (b *batcher) mayBegin() bool {
	return b.workers == 0 || b.workers < batchesAtOnce && len(b.waiting) >= b.underWay
}

// work places one batch after the other until no order waits, or too few beside the other worker's.
func (b *batcher) work() {
	for next := b.next(nil); len(next) > 0; next = b.next(next) {
		b.place(next)
	}
}

// next takes the orders that have waited longest, after a batch that is done. Those that have too
// little time left by now go on alone. The worker that it returns none to must end: what waits then is
// begun by the other one, or by an order that comes.
func (b *batcher) next(done batch) (taken batch) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.underWay -= len(done)
	b.workers--
	if !b.mayBegin() {
		return nil
	}
	for len(taken) == 0 && len(b.waiting) > 0 {
		n := min(len(b.waiting), b.size)
		for _, m := range b.waiting[:n] {
			if b.takes(m.ctx) {
				taken = append(taken, m)
			} else {
				m.leave(toReserve, nil)
			}
		}
		b.waiting = slices.Delete(b.waiting, 0, n)
	}
	if len(taken) > 0 {
		b.workers++
		b.underWay += len(taken)
	}
	return taken
}
