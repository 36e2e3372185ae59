package order

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"example.com/seckill/internal/coupon"
)

// WorkerConfig configures the workers of an instance.
type WorkerConfig struct {
	// Loaded lists the coupons that have queues.
	Loaded         func(ctx context.Context) ([]coupon.Coupon, error)
	MaxAge         time.Duration // older entries are refused
	AttemptTimeout time.Duration // bounds one attempt at an entry
	Concurrency    int           // entries that are processed at once
	// OnEvent is called with the entries claimed or dead-lettered, and with failures, by several goroutines. It
	// may be nil.
	OnEvent func(job string, n int, err error)
	// Begin returns the context in which an entry is attempted, and a function that is called with the
	// outcome of the attempt. It may be nil.
	Begin func(ctx context.Context, e Entry) (context.Context, func(error))
}

const (
	// maxFailures is how often an entry may fail. An entry that was delivered more often, and never acknowledged, is
	// given up once it is older than MaxAge. Before that, the stores may have been unavailable to each delivery.
	maxFailures = 5
	// An instance asks at once for entries of a coupon of which an order was queued through itself. For the entries of
	// other instances it looks at the lengths of all queues. Between two looks it pauses for sweepPause times as long
	// as a look takes, and for minSweep at least, so that coupons without entries cost little. So it needs no blocked
	// connection for each shard of each coupon.
	minSweep   = 250 * time.Millisecond
	sweepPause = 20
	// refreshInterval is how often the list of coupons is read again and abandoned entries
	// are claimed. It is also the longest pause between two looks.
	refreshInterval = time.Second
)

// busyQueues are the coupons whose queues may have entries for the workers of this instance.
type busyQueues struct {
	mu     sync.Mutex
	queues map[int64]coupon.Coupon // as the last look found them
	busy   map[int64]bool
	woken  chan struct{}
}

func newBusyQueues() *busyQueues {
	return &busyQueues{busy: map[int64]bool{}, woken: make(chan struct{}, 1)}
}

// add has the workers ask for entries of a coupon.
func (b *busyQueues) add(id int64) {
	b.mu.Lock()
	b.busy[id] = true
	b.mu.Unlock()
	select {
	case b.woken <- struct{}{}:
	default:
	}
}

// take returns the coupons that were added since the last call.
func (b *busyQueues) take() []int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	ids := slices.Sorted(maps.Keys(b.busy))
	clear(b.busy)
	return ids
}

// list keeps the coupons that have queues.
func (b *busyQueues) list(all []coupon.Coupon) {
	queues := make(map[int64]coupon.Coupon, len(all))
	for _, c := range all {
		queues[c.ID] = c
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.queues = queues
}

func (b *busyQueues) coupon(id int64) (coupon.Coupon, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c, listed := b.queues[id]
	return c, listed
}

// workerPool is a Service that processes the queues.
type workerPool struct {
	*Service
	WorkerConfig
	slots     chan struct{} // a token for each further entry that may be processed
	busy      sync.WaitGroup
	abandoned chan []coupon.Coupon // whose queues may have abandoned entries
}

// RunWorkers processes the queues until ctx ends, and returns when every entry that it has
// begun is finished. The others are left to other instances.
func (s *Service) RunWorkers(ctx context.Context, how WorkerConfig) {
	c := &workerPool{Service: s, WorkerConfig: how, slots: make(chan struct{}, how.Concurrency), abandoned: make(chan []coupon.Coupon)}
	if c.OnEvent == nil {
		c.OnEvent = func(string, int, error) {}
	}
	if c.Begin == nil {
		c.Begin = func(ctx context.Context, _ Entry) (context.Context, func(error)) { return ctx, func(error) {} }
	}
	for range how.Concurrency {
		c.slots <- struct{}{}
	}
	defer c.busy.Wait()
	var running sync.WaitGroup
	running.Go(func() { c.sweep(ctx) })
	running.Go(func() { c.claim(ctx) })
	running.Go(func() { c.consume(ctx) })
	running.Wait()
}

// consume processes the entries of busy queues. One that had entries is asked again.
func (c *workerPool) consume(ctx context.Context) {
	for ctx.Err() == nil {
		ids := c.queued.take()
		if len(ids) == 0 {
			select {
			case <-ctx.Done():
			case <-c.queued.woken:
			}
			continue
		}
		for _, id := range ids {
			of, listed := c.queued.coupon(id)
			if !listed {
				var err error
				if of, err = c.sales.Get(ctx, id); err != nil {
					continue // a look finds its entries
				}
			}
			if c.fetch(ctx, "consume", of, c.queue.Next) > 0 {
				c.queued.add(id)
			}
		}
	}
}

// sweep looks again and again which queues have entries, and has them consumed and claimed.
func (c *workerPool) sweep(ctx context.Context) {
	var coupons []coupon.Coupon
	for refreshed := (time.Time{}); ctx.Err() == nil; {
		began := time.Now()
		refresh := began.Sub(refreshed) >= refreshInterval
		if refresh {
			refreshed = began
			coupons = c.refresh(ctx, coupons)
		}
		waiting, err := c.queue.Waiting(ctx, coupons)
		if err != nil && ctx.Err() == nil {
			c.OnEvent("consume", 0, err)
		}
		for _, of := range waiting {
			c.queued.add(of.ID)
		}
		if refresh && len(waiting) > 0 {
			select {
			case c.abandoned <- waiting:
			default: // the last claims are not done
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(min(refreshInterval, max(minSweep, sweepPause*time.Since(began)))):
		}
	}
}

// refresh reads which coupons have queues. If they cannot be read it returns those that it had.
func (c *workerPool) refresh(ctx context.Context, had []coupon.Coupon) []coupon.Coupon {
	c.polls.forget(c.now().Add(-2 * c.MaxAge))
	coupons, err := c.Loaded(ctx)
	if err != nil {
		if ctx.Err() == nil {
			c.OnEvent("consume", 0, err)
		}
		return had
	}
	c.queued.list(coupons)
	return coupons
}

// claim takes over abandoned entries, and processes them.
func (c *workerPool) claim(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case coupons := <-c.abandoned:
			n := 0
			for _, of := range coupons {
				n += c.fetch(ctx, "claim", of, c.queue.ClaimAbandoned)
			}
			if n > 0 {
				c.OnEvent("claim", n, nil)
			}
		}
	}
}

// fetch begins to process entries of a coupon, up to the number of free slots, and
// returns how many.
func (c *workerPool) fetch(
	ctx context.Context, job string, of coupon.Coupon, next func(context.Context, coupon.Coupon, int) ([]Entry, error),
) int {
	slots := c.acquireSlots(ctx)
	if slots == 0 {
		return 0
	}
	entries, err := next(ctx, of, slots)
	if err != nil && ctx.Err() == nil {
		c.OnEvent(job, 0, err)
	}
	for range slots - len(entries) {
		c.slots <- struct{}{}
	}
	c.begin(ctx, entries)
	return len(entries)
}

// begin processes entries that have a slot each. Entries that come for the first time go together, if attempts do. The
// others go by themselves, and so do those that could not go together.
func (c *workerPool) begin(ctx context.Context, entries []Entry) {
	var plain []Entry
	for _, e := range entries {
		if c.batches != nil && e.Deliveries == 1 && e.Broken == nil {
			plain = append(plain, e)
		} else {
			c.beginAlone(ctx, e)
		}
	}
	if len(plain) == 0 {
		return
	}
	for some := range slices.Chunk(plain, c.batches.Size()) {
		c.busy.Go(func() {
			for i, served := range c.attemptBatch(ctx, some) {
				if served {
					c.slots <- struct{}{}
				} else {
					c.beginAlone(ctx, some[i])
				}
			}
		})
	}
}

// beginAlone processes an entry that has a slot.
func (c *workerPool) beginAlone(ctx context.Context, e Entry) {
	c.busy.Go(func() {
		defer func() { c.slots <- struct{}{} }()
		c.process(ctx, e)
	})
}

// acquireSlots blocks until half of the slots are free and acquires all that are, so that
// entries are fetched many at a time: small batches need more transactions. It returns 0 if ctx has ended.
func (c *workerPool) acquireSlots(ctx context.Context) (n int) {
	for ctx.Err() == nil {
		if n < max(1, c.Concurrency/2) {
			select {
			case <-c.slots:
				n++
			case <-ctx.Done():
			}
			continue
		}
		select {
		case <-c.slots:
			n++
		default:
			return n
		}
	}
	for range n {
		c.slots <- struct{}{}
	}
	return 0
}

// process attempts an entry until it is acknowledged or left to be claimed by another
// instance. Only errors of the entry itself count as failures: a busy user or an unavailable
// store is waited for.
func (c *workerPool) process(ctx context.Context, e Entry) {
	failures, why := 0, e.Broken
	if e.Deliveries > maxFailures && c.now().Sub(e.Order.CreatedAt) >= c.MaxAge {
		why = fmt.Errorf("order: delivered %d times and never acknowledged", maxFailures)
	}
	for try := 1; ; try++ {
		err := c.attempt(ctx, e, why)
		if err == nil {
			if why != nil {
				c.OnEvent("bury", 1, nil)
			}
			return
		}
		if !isTransient(err) {
			c.OnEvent("consume", 0, err)
			c.log.WarnContext(ctx, "queue entry failed",
				"entry", e.ID, "coupon", e.Hold.CouponID, "order", e.Hold.OrderID, "error", err)
			if failures++; failures >= maxFailures && why == nil {
				why = err
			} else if failures > 2*maxFailures {
				return // it cannot be dead-lettered either: the next instance to claim it may succeed
			}
		}
		if try > maxAttempts || !backoff(ctx, try) {
			return
		}
	}
}

// maxAttempts bounds the attempts at one delivery of an entry: the pauses between them add
// up to about three seconds.
const maxAttempts = 20

// backoff pauses between two attempts and reports whether ctx is still alive.
func backoff(ctx context.Context, try int) bool {
	t := time.NewTimer(min(200*time.Millisecond, time.Duration(try)*10*time.Millisecond))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// isTransient reports whether err may be gone at the next attempt at any entry.
func isTransient(err error) bool {
	return isOneOf(err, ErrBusy, ErrUnavailable, ErrCommitUnknown, context.DeadlineExceeded, context.Canceled)
}

// attempt makes one attempt at an entry, with a deadline of its own: it is finished even when
// the instance is stopping. With a reason the entry is dead-lettered.
func (c *workerPool) attempt(ctx context.Context, e Entry, why error) (err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.AttemptTimeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil { // one entry must not crash one instance after the other
			err = fmt.Errorf("order: panic: %v", p)
		}
	}()
	if why != nil {
		return c.deadLetter(ctx, e, why)
	}
	ctx, end := c.Begin(ctx, e)
	defer func() { end(err) }()
	all := attemptsOf([]Entry{e}, []context.Context{ctx})
	c.serve(ctx, all, c.MaxAge)
	return all[0].Err
}

// attemptBatch is attempt for many entries, and reports which are served. A panic, which may be
// any one's, leaves all of them to an attempt of their own.
func (c *workerPool) attemptBatch(ctx context.Context, entries []Entry) (served []bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.AttemptTimeout)
	defer cancel()
	contexts, ends := make([]context.Context, len(entries)), make([]func(error), len(entries))
	for i, e := range entries {
		contexts[i], ends[i] = c.Begin(ctx, e) //nolint:fatcontext // each attempt has its own
	}
	defer func() {
		if p := recover(); p != nil {
			served = make([]bool, len(entries))
		}
		for i, end := range ends {
			if served[i] {
				end(nil)
			} else {
				end(ErrFallback)
			}
		}
	}()
	all := attemptsOf(entries, contexts)
	c.serve(ctx, all, c.MaxAge)
	return each(all, func(a *Attempt) bool { return a.Err == nil })
}
