package chaos

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// purchase is one request of one buyer, under one key, however often it is sent.
type purchase struct {
	user  int64
	key   string
	token string
	taps  int // how many times the buyer taps at once
	lot   int // 0 to 99: whether the order will be paid, cancelled or left
	ids   []int64
	gone  bool      // it was answered that this request will never be an order
	since time.Time // when that was asked
	late  bool      // an answer took as long as a commit may: its order may have been given up for that
	place string    // of a 202 that is not ended
	lost  bool      // its place was not found: the server has lost the request with Redis
	told  time.Time // when that was answered

	sent, inFlight int       // requests with the key, in all and those without an answer at this moment
	unsure         bool      // an answer was no refusal: an attempt may go on after it
	refused        time.Time // when the key was last refused, if all of its requests had been refused
	refusedAs      string

	permits sync.Mutex
	permit  string // the purchase token, where one is needed
}

// acknowledged is an order that was acknowledged: it must be there for ever.
type acknowledged struct {
	id      int64
	wish    *purchase
	want    string // what its owner made of it: "", "paid" or "cancelled"
	sure    bool   // and was told that it happened
	refused bool   // or was told that it cannot
	expires time.Time

	first           time.Time // when it was acknowledged
	asked, followed time.Time // when the last request began that was answered with it, and the one that made it sure
}

// allows reports whether the order may be in this state now.
func (o *acknowledged) allows(status string, now time.Time) bool {
	if o.sure {
		return status == o.want
	}
	switch status {
	case "pending":
		return true
	case "expired":
		return now.After(o.expires.Add(-time.Second))
	}
	return status == o.want && !o.refused
}

// record is what the buyers were told. It relies on nothing else.
type record struct {
	mu       sync.Mutex
	asked    int // taps
	repeats  int // requests sent again
	repeated int // requests that repeated a refused key
	lost     int // requests without an answer
	doubts   int // answers 202
	refused  map[string]int
	open     int // taps whose end is unknown
	byOrder  map[int64]*acknowledged
	first    time.Time // when the first order was acknowledged after the last fault
	healed   time.Time
	history  *history // nil unless the database was set back
	skewed   bool     // an instance may have a wrong clock
	slowest  time.Duration
	span     span
	problems []string
}

func newRecord() *record {
	return &record{refused: map[string]int{}, byOrder: map[int64]*acknowledged{}, span: span{began: time.Now()}}
}

const maxProblems = 12

func (r *record) problem(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.problemLocked(format, args...)
}

func (r *record) problemLocked(format string, args ...any) {
	if len(r.problems) < maxProblems {
		r.problems = append(r.problems, fmt.Sprintf(format, args...))
	}
}

// acknowledge records an order that was asked for at that time, and returns it if it is new.
func (r *record) acknowledge(w *purchase, id int64, expires, asked time.Time) *acknowledged {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.first.IsZero() && !r.healed.IsZero() {
		r.first = time.Now()
	}
	if slices.Contains(w.ids, id) {
		if o := r.byOrder[id]; o != nil && asked.After(o.asked) {
			o.asked = asked
		}
		return nil
	}
	for _, before := range w.ids {
		if !r.undone(r.byOrder[before]) {
			r.problemLocked("two orders for one request: user %d was given order %d and then %d", w.user, before, id)
		}
	}
	if w.gone && !r.history.after(w.since) {
		r.problemLocked("a request that was given up has an order: %d of user %d", id, w.user)
	}
	w.ids = append(w.ids, id)
	if other, known := r.byOrder[id]; known {
		r.problemLocked("one order for two requests: %d for user %d and user %d", id, other.wish.user, w.user)
		return nil
	}
	o := &acknowledged{id: id, wish: w, expires: expires, first: time.Now(), asked: asked}
	r.byOrder[id] = o
	return o
}

// ledTo reports whether the answers to the request of an order have named the order.
func (r *record) ledTo(o *acknowledged) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Contains(o.wish.ids, o.id)
}

func (r *record) refuse(code string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refused[code]++
}

// placeOf returns where the order of a wish is asked for that was answered 202; "" if it has ended.
func (r *record) placeOf(w *purchase) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return w.place
}

// notDrawn records that a wish has ended without an order.
func (r *record) notDrawn(w *purchase) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w.place = ""
	r.refused["not_drawn"]++
}

func (r *record) count(n *int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	*n++
}

// took records how long an answer to the wish took, to a tap's first request or to a later one.
func (r *record) took(w *purchase, d time.Duration, first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.slowest = max(r.slowest, d)
	w.late = w.late || d >= txTimeout
	if first {
		r.span.took = append(r.span.took, d)
	}
}

// repeat counts a request that is sent again.
func (r *record) repeat() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.repeats++
	r.span.repeats++
}

func (r *record) accepted() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.byOrder)
}

// all lists what is owed, by id.
func (r *record) all() []*acknowledged {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.SortedFunc(maps.Values(r.byOrder), func(a, b *acknowledged) int { return int(a.id - b.id) })
}

// heal starts the clock of recovery.
func (r *record) heal() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.healed = time.Now()
	return r.healed
}
