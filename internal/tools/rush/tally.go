package rush

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// tally counts what became of the taps, and keeps the record of every order
// that the server acknowledged.
type tally struct {
	requests atomic.Int64 // answered ones, of every kind

	began     time.Time // of the run; set before the first tap
	mu        sync.Mutex
	asked     int
	accepted  int
	queued    int // answered 202 at first, whatever became of it
	repeats   int // requests sent again for the same tap
	paid      int
	cancelled int
	refused   map[string]int
	failed    map[string]int
	latency   *hdrhistogram.Histogram // of accepted orders, in µs
	untold    *hdrhistogram.Histogram // the same without the waiting that the server told
	toldTaps  int                     // accepted orders whose tap was told to wait
	refusals  *hdrhistogram.Histogram // of refusals, in µs
	last      time.Time               // when the latest outcome was known
	soldFrom  time.Time               // from when the first tap counts that got an order
	soldUntil time.Time               // when the latest order was acknowledged
	queuedAt  time.Time               // when the latest 202 was answered
	acks      []*ack
	arrived   arrivals
	wrong     violations
	lost      int // acknowledged orders that their owners could not read again
}

// ack is one order that was acknowledged: from here on the server owes it.
type ack struct {
	id      string
	user    int64
	tap     int       // which of the user's taps, from 0
	expires time.Time // zero if the server does not say

	wantStatus string // what its owner made of it: "", "paid" or "cancelled"
	confirmed  bool   // the server said that want happened
}

// mayHaveExpired reports whether the order may have expired at a moment, allowing a second
// for clocks that differ.
func (a *ack) mayHaveExpired(at time.Time) bool {
	return !a.expires.IsZero() && at.After(a.expires.Add(-time.Second))
}

// live reports whether the order certainly holds a unit at a moment.
func (a *ack) live(at time.Time) bool {
	switch {
	case a.wantStatus == "paid" && a.confirmed:
		return true
	case a.wantStatus == "cancelled":
		return false
	}
	return !a.mayHaveExpired(at)
}

func newTally() *tally {
	return &tally{
		refused:  make(map[string]int),
		failed:   make(map[string]int),
		latency:  newLatency(),
		untold:   newLatency(),
		refusals: newLatency(),
	}
}

// newLatency returns a histogram from 1 µs to 10 minutes, to three figures.
func newLatency() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, (10 * time.Minute).Microseconds(), 3)
}

// record adds a latency. One above the range is recorded as the end of the range.
func record(h *hdrhistogram.Histogram, d time.Duration) {
	if h.RecordValue(max(d.Microseconds(), 1)) != nil {
		_ = h.RecordValue(h.HighestTrackableValue())
	}
}

func (t *tally) countTap() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked++
}

func (t *tally) countRepeat() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.repeats++
}

func (t *tally) countQueued() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.queued++
	t.queuedAt = time.Now()
}

func (t *tally) countRefusal(code string, a arrival) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refused[code]++
	if code == codeSoldOut || code == codeNotDrawn {
		t.arrived.missed = append(t.arrived.missed, missed{a.since.Sub(t.began), a.path, a.shard})
	}
	t.last = time.Now()
	record(t.refusals, t.last.Sub(a.since))
}

func (t *tally) countFailure(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failed[name]++
	t.last = time.Now()
}

// countAccepted records an order and returns its number, from 1. The server made its tap wait for told.
func (t *tally) countAccepted(a *ack, since time.Time, told time.Duration) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = time.Now()
	t.soldUntil = t.last
	if t.accepted == 0 || since.Before(t.soldFrom) {
		t.soldFrom = since
	}
	t.accepted++
	t.arrived.got = append(t.arrived.got, since.Sub(t.began))
	t.acks = append(t.acks, a)
	record(t.latency, t.last.Sub(since))
	record(t.untold, t.last.Sub(since)-told)
	if told > 0 {
		t.toldTaps++
	}
	return t.accepted
}

// selling returns the seconds in which units were sold.
func (t *tally) selling() float64 { return t.soldUntil.Sub(t.soldFrom).Seconds() }

// countFollowUp counts a payment or cancellation that the server confirmed.
func (t *tally) countFollowUp(a *ack) {
	t.mu.Lock()
	defer t.mu.Unlock()
	a.confirmed = true
	if a.wantStatus == "paid" {
		t.paid++
	} else {
		t.cancelled++
	}
	t.last = time.Now()
}

// lose records an acknowledged order that its owner could not read again.
func (t *tally) lose(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lost++
	t.wrong.add(format, args...)
}

func (t *tally) violation(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wrong.add(format, args...)
}

// counts returns the figures of the progress.
func (t *tally) counts() (asked, accepted, refused, failed, cancelled int, soldOut bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.asked, t.accepted, sum(t.refused), sum(t.failed), t.cancelled, t.refused[codeSoldOut] > 0
}

func sum(m map[string]int) int {
	n := 0
	for _, v := range m {
		n += v
	}
	return n
}
