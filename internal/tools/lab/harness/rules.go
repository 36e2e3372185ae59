package harness

import (
	"fmt"
)

// rule is something that must hold.
type rule struct {
	name   Text
	bound  int64
	always bool // asked after every step; otherwise at the end
	count  func() int64
	seen   int64
	broken bool
}

// AtMost adds a rule that must hold after every step. The largest count is reported.
func (run *Run) AtMost(name Text, bound int64, count func() int64) {
	run.rules = append(run.rules, &rule{name: name, bound: bound, always: true, count: count})
}

// InTheEnd adds a rule that must hold when all actors have finished.
func (run *Run) InTheEnd(name Text, want int64, count func() int64) {
	run.rules = append(run.rules, &rule{name: name, bound: want, count: count})
}

// Report adds a number that is not a rule.
func (run *Run) Report(name Text, value int64) {
	run.reported = append(run.reported, Number{Name: name, Value: value, Held: true})
}

// OneInside adds the rule of mutual exclusion: at most one actor is inside.
func (run *Run) OneInside() {
	run.AtMost(NewText("at work at once under one lock", "同一把锁下同时在工作的人数"), 1, run.inside.Load)
}

// check evaluates the rules that must always hold and marks the step that broke one.
func (run *Run) check() {
	for _, r := range run.rules {
		if !r.always {
			continue
		}
		r.seen = max(r.seen, r.count())
		if r.seen > r.bound && !r.broken {
			r.broken = true
			run.rec.markAnomaly(r.name, run.deadlocked.Load() > 0)
		}
	}
}

// evaluate checks the rules of the end and returns all numbers.
func (run *Run) evaluate() (numbers []Number, anomaly bool) {
	for _, r := range run.rules {
		n := Number{Name: r.name, Bound: fmt.Sprintf("≤ %d", r.bound), Decides: true}
		if !r.always {
			n.Bound = fmt.Sprintf("= %d", r.bound)
			r.seen = r.count()
			if r.broken = r.seen != r.bound; r.broken {
				run.rec.markAnomaly(r.name, false)
			}
		}
		n.Value, n.Held = r.seen, !r.broken
		anomaly = anomaly || r.broken
		numbers = append(numbers, n)
	}
	return append(numbers, run.reported...), anomaly
}

// WaitedFor counts the steps of others that actors waited for, in the timeline so far.
func (run *Run) WaitedFor() (n int64) {
	run.rec.mu.Lock()
	defer run.rec.mu.Unlock()
	for _, s := range run.rec.spans {
		if s.Kind != WaitSpan {
			continue
		}
		for _, e := range run.rec.events {
			if e.Actor != s.Actor && e.N > s.From && e.N < s.To {
				n++
			}
		}
	}
	return n
}
