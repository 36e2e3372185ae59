package order_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// idleQueues have an entry of one coupon only, which no worker acknowledges. They count the calls.
type idleQueues struct {
	order.Queue
	mu            sync.Mutex
	takes         time.Duration // of a look at all queues
	looks         int
	asked, claims map[int64]int
}

const busyCoupon = 3

func (q *idleQueues) Waiting(_ context.Context, all []coupon.Coupon) (waiting []coupon.Coupon, _ error) {
	time.Sleep(q.takes)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.looks++
	for _, c := range all {
		if c.ID == busyCoupon {
			waiting = append(waiting, c)
		}
	}
	return waiting, nil
}

func (q *idleQueues) Next(_ context.Context, c coupon.Coupon, _ int) ([]order.Entry, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.asked[c.ID]++
	return nil, nil
}

func (q *idleQueues) ClaimAbandoned(_ context.Context, c coupon.Coupon, _ int) ([]order.Entry, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.claims[c.ID]++
	return nil, nil
}

// Coupons without entries cost one look at the lengths of all queues, and the longer a look takes the rarer it is.
func TestRunWorkers_IdleCoupons_AreNotAskedForEntries(t *testing.T) {
	for takes, looks := range map[time.Duration]int{time.Millisecond: 40, 40 * time.Millisecond: 12, time.Second: 5} {
		t.Run(takes.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var all []coupon.Coupon
				for id := int64(1); id <= 2000; id++ {
					all = append(all, coupon.Coupon{ID: id, Shards: 8})
				}
				q := &idleQueues{takes: takes, asked: map[int64]int{}, claims: map[int64]int{}}
				ctx, stop := context.WithCancel(t.Context())
				var running sync.WaitGroup
				s := order.NewService(order.Deps{Queue: q, HeldPolls: 1})
				running.Go(func() {
					s.RunWorkers(ctx, order.WorkerConfig{
						Concurrency: 16, MaxAge: time.Minute,
						Loaded: func(context.Context) ([]coupon.Coupon, error) { return all, nil },
					})
				})
				time.Sleep(10 * time.Second)
				stop()
				running.Wait()
				require.InDelta(t, looks, q.looks, 2)
				require.InDelta(t, q.looks, q.asked[busyCoupon], 1) // the last look may end with the workers
				require.Positive(t, q.claims[busyCoupon])
				delete(q.asked, busyCoupon)
				delete(q.claims, busyCoupon)
				require.Zero(t, len(q.asked)+len(q.claims), "coupons without entries that were asked for them")
			})
		})
	}
}
