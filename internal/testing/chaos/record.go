package chaos

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// purchase is one request of one buyer, under one key. The buyer may send it more than once.
type purchase struct {
	user  int64
	key   string
	token string
	taps  int // how many times the buyer taps at once
	lot   int // 0 to 99: whether the order will be paid, cancelled or left
	ids   []int64
	gone  bool      // a server answered that this request will never be an order
	since time.Time // when the request for this answer began
	late  bool      // an answer took as long as a commit may: the server may have given up the order
	place string    // the location of a 202 that has not ended
	lost  bool      // a server did not find its place: the request is lost with the data of Redis
	told  time.Time // when the 202 was answered

	sent, inFlight int       // requests with the key, in all and those without an answer at this moment
	unsure         bool      // an answer was not a rejection: an attempt may go on after it
	refused        time.Time // when the key was last rejected, if all of its requests had been rejected
	refusedAs      string

	permits sync.Mutex
	permit  string // the purchase token, where one is needed
}

// acknowledged is an order that a server acknowledged. The order must exist forever.
type acknowledged struct {
	id      int64
	wish    *purchase
	want    string // what its owner requested: "", "paid" or "cancelled"
	sure    bool   // a server confirmed it
	refused bool   // a server answered that it is not possible
	expires time.Time

	first           time.Time // when it was acknowledged
	asked, followed time.Time // when the last request that was answered with it began, and the one that made it sure
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

// record holds the answers to the buyers. It relies on no other source.
type record struct {
	mu       sync.Mutex
	asked    int // taps
	repeats  int // requests sent again
	repeated int // requests that repeated a rejected key
	lost     int // requests without an answer
	doubts   int // answers 202
	refused  map[string]int
	open     int // taps whose end is unknown
	byOrder  map[int64]*acknowledged
	first    time.Time // when the first order was acknowledged after the last fault
	healed   time.Time
	history  *history // nil unless the database was rolled back
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

// acknowledge records an order from the answer to a request that began at the time asked. It returns the order
// if it is new, and nil otherwise.
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

// placeOf returns the location at which to ask for the order of a purchase request that was answered 202. It
// returns "" if the request has ended.
func (r *record) placeOf(w *purchase) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return w.place
}

// notDrawn records that a purchase request has ended without an order.
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

// took records how long an answer to the purchase request took: to the first request of a tap, or to a later
// one.
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

// all returns the acknowledged orders, sorted by id.
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
