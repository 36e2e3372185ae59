package bench

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

// AtMost is a rule that must hold after every step. The largest count is told.
func (b *Bench) AtMost(name Text, bound int64, count func() int64) {
	b.rules = append(b.rules, &rule{name: name, bound: bound, always: true, count: count})
}

// InTheEnd is a rule that must hold when everybody has finished.
func (b *Bench) InTheEnd(name Text, want int64, count func() int64) {
	b.rules = append(b.rules, &rule{name: name, bound: want, count: count})
}

// Tell adds a number that decides nothing.
func (b *Bench) Tell(name Text, value int64) {
	b.told = append(b.told, Number{Name: name, Value: value, Held: true})
}

// OneInside is the rule that a lock is for.
func (b *Bench) OneInside() {
	b.AtMost(Say("at work at once under one lock", "同一把锁下同时在工作的人数"), 1, b.inside.Load)
}

// check asks the rules that must always hold, and marks the step that broke one.
func (b *Bench) check() {
	for _, r := range b.rules {
		if !r.always {
			continue
		}
		r.seen = max(r.seen, r.count())
		if r.seen > r.bound && !r.broken {
			r.broken = true
			b.rec.accuse(r.name, b.stuck.Load() > 0)
		}
	}
}

// judge asks the rules of the end, and gives all numbers.
func (b *Bench) judge() (numbers []Number, anomaly bool) {
	for _, r := range b.rules {
		n := Number{Name: r.name, Bound: fmt.Sprintf("≤ %d", r.bound), Decides: true}
		if !r.always {
			n.Bound = fmt.Sprintf("= %d", r.bound)
			r.seen = r.count()
			if r.broken = r.seen != r.bound; r.broken {
				b.rec.accuse(r.name, false)
			}
		}
		n.Value, n.Held = r.seen, !r.broken
		anomaly = anomaly || r.broken
		numbers = append(numbers, n)
	}
	return append(numbers, b.told...), anomaly
}

// WaitedFor counts the steps of others that actors waited for, in the timeline so far.
func (b *Bench) WaitedFor() (n int64) {
	b.rec.mu.Lock()
	defer b.rec.mu.Unlock()
	for _, s := range b.rec.spans {
		if s.Kind != WaitSpan {
			continue
		}
		for _, e := range b.rec.events {
			if e.Actor != s.Actor && e.N > s.From && e.N < s.To {
				n++
			}
		}
	}
	return n
}
