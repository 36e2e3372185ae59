package harness

import (
	"sync"
	"time"
)

// recorder keeps the timeline of one case.
type recorder struct {
	mu     sync.Mutex
	start  time.Time
	events []Event
	spans  []Span
}

func newRecorder() *recorder { return &recorder{start: time.Now()} }

// add appends an event and returns its number.
func (r *recorder) add(e Event) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.N, e.AtMS = len(r.events), milliseconds(time.Since(r.start))
	r.events = append(r.events, e)
	return e.N
}

// markAnomaly marks the last step as the one after which a rule did not hold. A wait is not a step,
// unless the rule is about waiting.
func (r *recorder) markAnomaly(rule Text, waiting bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for n := len(r.events) - 1; n >= 0; n-- {
		if e := &r.events[n]; waiting || !e.Waits {
			if e.Anomaly == nil {
				e.Anomaly = &rule
			}
			return
		}
	}
}

// open begins a span at an event.
func (r *recorder) open(kind SpanKind, actor, label string, at int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.spans = append(r.spans, Span{Kind: kind, Actor: actor, Label: label, From: at, To: -1})
}

// end ends the actor's latest open span of a kind, if it has one. An empty label matches any.
func (r *recorder) end(kind SpanKind, actor, label string, at int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for n := len(r.spans) - 1; n >= 0; n-- {
		if s := &r.spans[n]; s.Kind == kind && s.Actor == actor && s.To < 0 && (label == "" || s.Label == label) {
			s.To = at
			return
		}
	}
}

// endEvery ends the open spans of that kind and label, of all actors.
func (r *recorder) endEvery(kind SpanKind, label string, at int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for n := range r.spans {
		if s := &r.spans[n]; s.Kind == kind && s.Label == label && s.To < 0 {
			s.To = at
		}
	}
}
