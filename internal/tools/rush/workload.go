package rush

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// sendAll sends every buyer and returns when each tap has its outcome. When ctx ends, no
// more buyers are sent and no request is retried; work, the context of the requests in
// flight, ends a little later.
func (r *run) sendAll(ctx, work context.Context) {
	var next atomic.Int64
	var workers sync.WaitGroup
	r.start = time.Now()
	r.began = r.start
	for range min(r.Concurrency, r.Users) {
		workers.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= r.Users {
					return
				}
				due, ok := r.due(ctx, i)
				if !ok {
					return
				}
				r.buyer(ctx, work, i, due)
			}
		})
	}
	workers.Wait()
	r.behind.Wait()
}

// due waits until it is the i-th buyer's turn and returns the moment from which
// the buyer's latency counts. In an open loop that is the moment in the schedule,
// however late a worker is free for it. It reports false if the run is over.
func (r *run) due(ctx context.Context, i int) (time.Time, bool) {
	if r.Rate == 0 {
		return time.Now(), ctx.Err() == nil
	}
	due := r.start.Add(time.Duration(float64(r.tapsBefore(i)) / r.Rate * float64(time.Second)))
	return due, sleep(ctx, time.Until(due))
}

// buyer taps once, or several times at once. It returns when the worker may go on: a tap that waits
// then ends behind it.
func (r *run) buyer(ctx, work context.Context, i int, due time.Time) {
	n := r.tapsOf(i)
	if n == 1 {
		r.tap(ctx, work, tap{buyer: i, due: due})
		return
	}
	all := newTogether(n)
	var ready sync.WaitGroup
	gate := make(chan struct{})
	ready.Add(n)
	for nth := range n {
		r.behind.Go(func() {
			defer all.end()
			ready.Done()
			<-gate
			r.tap(ctx, work, tap{buyer: i, nth: nth, due: due, together: all})
		})
	}
	ready.Wait()
	close(gate)
	<-all.free
}
