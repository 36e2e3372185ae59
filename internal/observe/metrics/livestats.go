package metrics

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"example.com/seckill/internal/order"
)

// LiveStats counts the work of this instance in the last seconds, for the page. The registry
// counts since the start of the process.
type LiveStats struct {
	latencies *latencyWindow
	held      atomic.Int64
	waiting   atomic.Int64

	mu   sync.Mutex
	lent map[int64][]int64 // by coupon and shard
}

// P99 returns the latency that 99 of 100 accepted orders of the last five seconds did not
// exceed, with an error below a tenth; 0 if there was none.
func (p *LiveStats) P99() time.Duration { return p.latencies.percentile(99) }

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

// latencyWindow holds the latencies of the last seconds, in µs, in one histogram per second.
type latencyWindow struct {
	began time.Time

	mu         sync.Mutex
	histograms *hdrhistogram.WindowedHistogram
	second     int64 // the second of the current histogram, since began
}

const (
	windowSeconds = 5
	maxLatency    = 20 * time.Second // longer latencies count as this one
)

func newLatencyWindow() *latencyWindow {
	// One significant figure keeps the error below a tenth, and the memory at 16 KiB.
	return &latencyWindow{began: time.Now(), histograms: hdrhistogram.NewWindowed(windowSeconds, 1, maxLatency.Microseconds(), 1)}
}

func (w *latencyWindow) add(d time.Duration) {
	second := w.now() // not under the lock, for which other orders wait
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rotate(second)
	_ = w.histograms.Current.RecordValue(min(d, maxLatency).Microseconds()) // in range
}

func (w *latencyWindow) percentile(p float64) time.Duration {
	second := w.now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rotate(second)
	return time.Duration(w.histograms.Merge().ValueAtPercentile(p)) * time.Microsecond
}

// now returns the second since the window began, which a step of the clock does not change.
func (w *latencyWindow) now() int64 { return int64(time.Since(w.began) / time.Second) }

// rotate makes the histogram of the second the current one. The caller holds mu.
func (w *latencyWindow) rotate(second int64) {
	for range min(second-w.second, windowSeconds) {
		w.histograms.Rotate()
	}
	w.second = max(second, w.second)
}
