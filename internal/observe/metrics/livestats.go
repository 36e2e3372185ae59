package metrics

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"example.com/seckill/internal/order"
)

// LiveStats is what this instance did in the last seconds, for the page. The registry has all
// of it too, but since the start of the process.
type LiveStats struct {
	latencies latencyWindow
	held      atomic.Int64
	waiting   atomic.Int64

	mu   sync.Mutex
	lent map[int64][]int64 // by coupon and shard
}

// P99 returns the latency that 99 of 100 accepted orders of the last five seconds did not
// exceed, with an error of a tenth; 0 if there was none.
func (p *LiveStats) P99() time.Duration { return p.latencies.quantile(time.Now(), 0.99) }

// Locks returns how many users' locks this instance holds now, and how many it waits for.
func (p *LiveStats) Locks() (held, waiting int64) { return p.held.Load(), p.waiting.Load() }

// Lent returns how many units each shard of the coupon has lent, through this instance, to
// buyers whose home shard is another.
func (p *LiveStats) Lent(couponID int64, shards int) []int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]int64, shards)
	copy(all, p.lent[couponID])
	return all
}

// maxLent bounds the coupons that are remembered.
const maxLent = 1024

func (p *LiveStats) lend(h order.Hold) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lent == nil || len(p.lent) >= maxLent {
		p.lent = map[int64][]int64{}
	}
	all := p.lent[h.CouponID]
	if len(all) <= h.Shard {
		all = append(make([]int64, 0, h.Shards), all...)[:h.Shards]
		p.lent[h.CouponID] = all
	}
	all[h.Shard]++
}

// Hook feeds the statistics of units lent and of locks. home returns a user's home shard.
func (p *LiveStats) Hook(home func(userID int64, shards int) int) order.Hook {
	return func(ctx context.Context, step order.Step, all []*order.Attempt, do func(ctx context.Context)) {
		switch step {
		case order.StepReserve:
			do(ctx)
			for _, a := range all {
				if h := a.Hold; a.Err == nil && h.Shards > 0 && h.Shard != home(h.UserID, h.Shards) {
					p.lend(h)
				}
			}
		case order.StepLock:
			waiting := int64(len(all))
			p.waiting.Add(waiting)
			defer func() { p.waiting.Add(-waiting) }()
			do(context.WithValue(ctx, waitingKey{}, &waiting))
		case order.StepWork:
			if waiting, is := ctx.Value(waitingKey{}).(*int64); is {
				p.waiting.Add(-*waiting)
				*waiting = 0
			}
			p.held.Add(int64(len(all)))
			defer p.held.Add(-int64(len(all)))
			do(ctx)
		default:
			do(ctx)
		}
	}
}

// waitingKey is the key of the number of attempts that wait for their locks.
type waitingKey struct{}

// latencyWindow counts latencies of the last seconds, each in the bucket of its size.
type latencyWindow struct {
	mu   sync.Mutex
	ring [windowSeconds]latencySecond
}

type latencySecond struct {
	at    int64 // the second that it is of
	count [windowBuckets]int32
}

const (
	windowSeconds = 5
	windowBuckets = 128                    // up to 20 s
	windowFirst   = 100 * time.Microsecond // everything below is in the first
	windowGrowth  = 1.1
)

func (w *latencyWindow) add(now time.Time, d time.Duration) {
	bucket := 0
	if d > windowFirst {
		bucket = min(windowBuckets-1, int(math.Ceil(math.Log(float64(d)/float64(windowFirst))/math.Log(windowGrowth))))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	second := &w.ring[now.Unix()%windowSeconds]
	if second.at != now.Unix() {
		*second = latencySecond{at: now.Unix()}
	}
	second.count[bucket]++
}

// quantile returns the upper bound of the bucket that holds the q-quantile.
func (w *latencyWindow) quantile(now time.Time, q float64) time.Duration {
	var sum [windowBuckets]int64
	var all int64
	w.mu.Lock()
	for i := range w.ring {
		if second := &w.ring[i]; now.Unix()-second.at < windowSeconds {
			for b, n := range second.count {
				sum[b] += int64(n)
				all += int64(n)
			}
		}
	}
	w.mu.Unlock()
	if all == 0 {
		return 0
	}
	need := int64(math.Ceil(q * float64(all)))
	for b, n := range sum {
		if need -= n; need <= 0 {
			return time.Duration(float64(windowFirst) * math.Pow(windowGrowth, float64(b)))
		}
	}
	return 0
}
