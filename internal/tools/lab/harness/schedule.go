package harness

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Turn lets one actor go on.
type Turn struct {
	actor  *Actor
	until  []string // it stops before a step that begins with one of these
	steps  int      // it stops after this number of steps
	blocks bool     // a wait of the actor does not end it
}

// Until is a turn up to the first step that begins with one of these words, and not including that step.
func (a *Actor) Until(words ...string) Turn { return Turn{actor: a, until: words} }

// Steps is a turn of n steps.
func (a *Actor) Steps(n int) Turn { return Turn{actor: a, steps: n} }

// BlockedStep is a turn of one step, however long it waits: until a server times out.
func (a *Actor) BlockedStep() Turn { return Turn{actor: a, steps: 1, blocks: true} }

// ToTheEnd is a turn to the end of the actor's script.
func (a *Actor) ToTheEnd() Turn { return Turn{actor: a} }

// planned returns the turn for the schedule in the result.
func (t Turn) planned() Planned { return Planned{Actor: t.actor.Name, Until: t.until, Steps: t.steps} }

// over reports whether a turn is over after this number of steps. The actor is parked.
func (t Turn) over(steps int) bool {
	begins := func(words string) bool { return strings.HasPrefix(t.actor.next, words) }
	return slices.ContainsFunc(t.until, begins) || t.steps > 0 && steps >= t.steps
}

// Schedule runs the turns. It then lets each actor, in the order of creation, go to its end. A turn also
// ends when its actor has to wait.
func (run *Run) Schedule(turns ...Turn) {
	for _, t := range turns {
		run.schedule = append(run.schedule, t.planned())
	}
	for _, t := range turns {
		run.advance(t)
	}
	for idle := 0; ; idle++ {
		moved, open := false, false
		for _, a := range run.actors {
			moved = run.advance(a.ToTheEnd()) || moved
			open = open || a.state != ended
		}
		if !open {
			return
		}
		if moved {
			idle = 0
		}
		if idle == maxIdleRounds {
			run.breakDeadlock()
		}
	}
}

// maxIdleRounds is the number of rounds without a step that count as a deadlock. A server needs a moment to
// detect a deadlock itself, and a round takes some milliseconds.
const maxIdleRounds = 100

// advance runs one turn and reports whether an actor moved.
func (run *Run) advance(t Turn) (moved bool) {
	a := t.actor
	for steps := 0; a.state != ended; steps++ {
		if a.state == parked {
			if t.over(steps) {
				return moved
			}
			a.state = running
			a.turn <- struct{}{}
		}
		for !run.awaitStep(a) {
			if !t.blocks {
				return moved
			}
		}
		moved = true
		run.catchUp()
	}
	return moved
}

// catchUp waits until each actor that no longer waits is at its next step.
func (run *Run) catchUp() {
	for _, a := range run.actors {
		if a.state == running {
			run.awaitStep(a)
		}
	}
}

// awaitStep waits until a is at its next step. It reports false if the step that a is in
// waits for another actor.
func (run *Run) awaitStep(a *Actor) bool {
	samples := 0
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case n := <-a.reports:
			if run.handle(a, n) {
				return true
			}
			continue
		case <-run.ctx.Done():
			panic(stopped{run.ctx.Err()})
		case <-tick.C:
		}
		s := a.step.Load()
		if s == nil || s.probe == nil || !s.probe(run.ctx) {
			samples = 0
			continue
		}
		if samples++; !a.waits && samples < waitSamples {
			continue
		}
		if !a.waits {
			a.waits = true
			waits := s.event
			waits.Waits, waits.Note = true, "waits …"
			n := run.rec.add(waits)
			run.rec.open(WaitSpan, a.Name, s.event.What, n)
		}
		return false
	}
}

// waitSamples is the number of samples in a row that must find a step waiting. A server also waits for a
// moment before it rejects a step.
const waitSamples = 5

// awaitReport waits until the actor is before a step or at its end.
func (run *Run) awaitReport(a *Actor) {
	for {
		select {
		case n := <-a.reports:
			if run.handle(a, n) {
				return
			}
		case <-run.ctx.Done():
			panic(stopped{run.ctx.Err()})
		}
	}
}

// handle processes a report and reports whether the actor is parked or has ended.
func (run *Run) handle(a *Actor, n report) bool {
	if n.done != nil {
		a.step.Store(nil)
		run.record(a, n.done)
		return false
	}
	a.state, a.next = parked, n.next
	if n.ended {
		a.state = ended
		if n.err != nil {
			panic(stopped{n.err})
		}
	}
	run.check() // the script's work after the step is a part of the step
	return true
}

// record writes a step into the timeline.
func (run *Run) record(a *Actor, s *Step) {
	n := run.rec.add(s.event)
	if a.waits {
		a.waits = false
		run.rec.end(WaitSpan, a.Name, "", n)
	}
	for _, c := range s.spans {
		switch {
		case c.open:
			run.rec.open(c.kind, a.Name, c.label, n)
		case c.every:
			run.rec.endEvery(c.kind, c.label, n)
		default:
			run.rec.end(c.kind, a.Name, c.label, n)
		}
	}
}

// breakDeadlock cancels the steps of the actors that wait for each other.
func (run *Run) breakDeadlock() {
	var waiting []*Actor
	for _, a := range run.actors {
		if a.state == running {
			waiting = append(waiting, a)
		}
	}
	if !run.deadlockAllowed {
		panic(stopped{fmt.Errorf("%w, which this experiment does not expect", ErrDeadlock)})
	}
	run.deadlocked.Add(int64(len(waiting)))
	run.check()
	for _, a := range waiting {
		if s := a.step.Load(); s != nil {
			s.cancel()
		}
	}
	for _, a := range waiting {
		run.awaitReport(a)
	}
}

// NoDeadlock adds the rule that no actor waits for ever. Without it, a deadlock fails the
// experiment.
func (run *Run) NoDeadlock(name Text) {
	run.deadlockAllowed = true
	run.AtMost(name, 0, run.deadlocked.Load)
}

// skipError is the reason why these servers cannot show a case.
type skipError struct{ why Text }

func (e *skipError) Error() string { return "these servers cannot show it: " + e.why.EN }

// Skip ends the case because these servers cannot show it.
func (run *Run) Skip(why Text) { panic(stopped{&skipError{why}}) }
