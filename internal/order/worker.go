package order

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"seckill/internal/coupon"
)

// WorkerConfig is how an instance serves the queues.
type WorkerConfig struct {
	Loaded         func(ctx context.Context) ([]coupon.Coupon, error) // the coupons whose queues there are
	MaxAge         time.Duration                                      // an entry that is older is refused
	AttemptTimeout time.Duration                                      // of one try at an entry
	Concurrency    int                                                // entries that are served at once
	OnEvent        func(job string, n int, err error)                 // told of entries claimed and buried, and of failures; may be nil
}

const (
	// tries is how often an entry may fail, or be left by those who were given it.
	maxFailures = 5
	// An instance looks into the queues when something was queued through itself, and
	// else after a moment that doubles while there is nothing. So no connection is kept
	// waiting for each shard of each coupon.
	minPoll, maxPoll = 10 * time.Millisecond, 250 * time.Millisecond
	// review is how often the coupons are read anew, and others' abandoned entries
	// looked for.
	refreshInterval = time.Second
)

// consumer is a Service at work on the queues.
type workerPool struct {
	*Service
	WorkerConfig
	slots   chan struct{} // a token for each free hand
	busy    sync.WaitGroup
	coupons []coupon.Coupon
}

// RunWorkers serves the queues until ctx ends, and returns when all that it has in hand
// has come to its end. What it leaves, the other instances serve.
func (s *Service) RunWorkers(ctx context.Context, how WorkerConfig) {
	c := &workerPool{Service: s, WorkerConfig: how, slots: make(chan struct{}, how.Concurrency)}
	if c.OnEvent == nil {
		c.OnEvent = func(string, int, error) {}
	}
	for range how.Concurrency {
		c.slots <- struct{}{}
	}
	defer c.busy.Wait()
	pause := minPoll
	for reviewed := (time.Time{}); ctx.Err() == nil; {
		if time.Since(reviewed) >= refreshInterval {
			c.refresh(ctx)
			reviewed = time.Now()
		}
		if c.fetch(ctx, "consume", s.queue.Next) > 0 {
			pause = minPoll
			continue
		}
		select {
		case <-ctx.Done():
		case <-s.woken:
		case <-time.After(pause):
			pause = min(2*pause, maxPoll)
		}
	}
}

// review reads which queues there are, and takes over what others have left.
func (c *workerPool) refresh(ctx context.Context) {
	coupons, err := c.Loaded(ctx)
	if err == nil {
		c.coupons = coupons
	} else if ctx.Err() == nil {
		c.OnEvent("consume", 0, err)
	}
	if n := c.fetch(ctx, "claim", c.queue.ClaimAbandoned); n > 0 {
		c.OnEvent("claim", n, nil)
	}
}

// round fetches entries of every coupon, as many as there are free hands, and says how
// many there were.
func (c *workerPool) fetch(ctx context.Context, job string, fetch func(context.Context, coupon.Coupon, int) ([]Entry, error)) int {
	got := 0
	for _, one := range c.coupons {
		hands := c.acquireSlots(ctx)
		if hands == 0 {
			return got
		}
		entries, err := fetch(ctx, one, hands)
		if err != nil && ctx.Err() == nil {
			c.OnEvent(job, 0, err)
		}
		for range hands - len(entries) {
			c.slots <- struct{}{}
		}
		for _, e := range entries {
			c.busy.Go(func() {
				defer func() { c.slots <- struct{}{} }()
				c.process(ctx, e)
			})
		}
		got += len(entries)
	}
	return got
}

// take waits until a quarter of the hands are free and takes all that are: entries are
// fetched many at a time. It is 0 if ctx has ended.
func (c *workerPool) acquireSlots(ctx context.Context) (hands int) {
	for ctx.Err() == nil {
		if hands < max(1, c.Concurrency/4) {
			select {
			case <-c.slots:
				hands++
			case <-ctx.Done():
			}
			continue
		}
		select {
		case <-c.slots:
			hands++
		default:
			return hands
		}
	}
	for range hands {
		c.slots <- struct{}{}
	}
	return 0
}

// attend serves an entry until it has come to its end, or is left to whoever claims
// it. Only what is the entry's own fault counts as a failure: that its user is busy or
// a store away is waited for.
func (c *workerPool) process(ctx context.Context, e Entry) {
	failures, why := 0, e.Broken
	if e.Deliveries > maxFailures {
		why = fmt.Errorf("order: given to %d, who all left it", maxFailures)
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
			c.log.WarnContext(ctx, "an entry of the queue failed", "entry", e.ID, "coupon", e.Hold.CouponID, "order", e.Hold.OrderID, "error", err)
			if failures++; failures >= maxFailures && why == nil {
				why = err
			} else if failures > 2*maxFailures {
				return // not even that: the next who claims it may be able to
			}
		}
		if try > maxAttempts || !backoff(ctx, try) {
			return
		}
	}
}

// patience is how many tries an entry gets from one consumer: about three seconds'
// worth of pauses.
const maxAttempts = 20

// rest pauses between two tries; false if ctx ended.
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

// passes says whether an error is of the moment and not of the entry.
func isTransient(err error) bool {
	for _, e := range []error{ErrBusy, ErrUnavailable, ErrCommitUnknown, context.DeadlineExceeded, context.Canceled} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// try makes one try at an entry, in its own time: what was begun is finished also when
// the instance is stopping. With a reason it is buried.
func (c *workerPool) attempt(ctx context.Context, e Entry, why error) (err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.AttemptTimeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil { // one entry must not end the instance, and then the next one
			err = fmt.Errorf("order: panic: %v", p)
		}
	}()
	if why != nil {
		return c.deadLetter(ctx, e, why)
	}
	return c.serve(ctx, e, c.MaxAge)
}
