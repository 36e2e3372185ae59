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
	last      time.Time               // when the latest outcome was known
	acks      []*ack
	wrong     violations
}

// ack is one order that was acknowledged: from here on the server owes it.
type ack struct {
	id      string
	user    int64
	tap     int       // which of the user's taps, from 0
	expires time.Time // zero if the server does not say

	want string // what its owner made of it: "", "paid" or "cancelled"
	sure bool   // the server said that want happened
}

// mayHaveExpired says whether the order's time to be paid is over at a moment,
// allowing a second for two clocks that differ.
func (a *ack) mayHaveExpired(at time.Time) bool {
	return !a.expires.IsZero() && at.After(a.expires.Add(-time.Second))
}

// live says whether the order certainly holds a unit at a moment.
func (a *ack) live(at time.Time) bool {
	switch {
	case a.want == "paid" && a.sure:
		return true
	case a.want == "cancelled":
		return false
	}
	return !a.mayHaveExpired(at)
}

func newTally() *tally {
	return &tally{
		refused: make(map[string]int),
		failed:  make(map[string]int),
		// From 1 µs to 10 minutes, to three figures.
		latency: hdrhistogram.New(1, (10 * time.Minute).Microseconds(), 3),
	}
}

func (t *tally) ask() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked++
}

func (t *tally) repeat() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.repeats++
}

func (t *tally) queue() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.queued++
}

func (t *tally) refuse(code string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refused[code]++
	t.last = time.Now()
}

func (t *tally) fail(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failed[name]++
	t.last = time.Now()
}

// accept records an order and returns which one it is, counting from 1.
func (t *tally) accept(a *ack, since time.Time) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = time.Now()
	t.accepted++
	t.acks = append(t.acks, a)
	// Only a latency above the range is an error, and then the range's end is near enough.
	if us := t.last.Sub(since).Microseconds(); t.latency.RecordValue(max(us, 1)) != nil {
		_ = t.latency.RecordValue(t.latency.HighestTrackableValue())
	}
	return t.accepted
}

// follow counts a payment or cancellation that the server confirmed.
func (t *tally) follow(a *ack) {
	t.mu.Lock()
	defer t.mu.Unlock()
	a.sure = true
	if a.want == "paid" {
		t.paid++
	} else {
		t.cancelled++
	}
	t.last = time.Now()
}

func (t *tally) violation(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wrong.add(format, args...)
}

// counts is what the progress shows.
func (t *tally) counts() (asked, accepted, refused, failed, cancelled int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.asked, t.accepted, sum(t.refused), sum(t.failed), t.cancelled
}

func sum(m map[string]int) int {
	n := 0
	for _, v := range m {
		n += v
	}
	return n
}
