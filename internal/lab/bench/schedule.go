package bench

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Turn lets one actor go on.
type Turn struct {
	actor *Actor
	until []string // it stops before a step that begins so
	steps int      // it stops after so many steps
	sits  bool     // it does not end because the actor has to wait
}

// Until is a turn up to the first step that begins with one of these words, which is
// not taken.
func (a *Actor) Until(words ...string) Turn { return Turn{actor: a, until: words} }

// Steps is a turn of n steps.
func (a *Actor) Steps(n int) Turn { return Turn{actor: a, steps: n} }

// SitsOut is a turn of one step, however long it waits: until a server loses patience.
func (a *Actor) SitsOut() Turn { return Turn{actor: a, steps: 1, sits: true} }

// ToTheEnd is a turn to the end of the actor's script.
func (a *Actor) ToTheEnd() Turn { return Turn{actor: a} }

// over says whether a turn that had so many steps is over with the actor parked.
func (t Turn) over(steps int) bool {
	begins := func(words string) bool { return strings.HasPrefix(t.actor.next, words) }
	return slices.ContainsFunc(t.until, begins) || t.steps > 0 && steps >= t.steps
}

// Schedule gives the actors their turns, and then lets each, in the order in which
// they were made, go to its end. A turn also ends when its actor has to wait.
func (b *Bench) Schedule(turns ...Turn) {
	for _, t := range turns {
		b.advance(t)
	}
	for idle := 0; ; idle++ {
		moved, open := false, false
		for _, a := range b.actors {
			moved = b.advance(a.ToTheEnd()) || moved
			open = open || a.state != ended
		}
		if !open {
			return
		}
		if moved {
			idle = 0
		}
		if idle == patience {
			b.unstick()
		}
	}
}

// patience is how many looks at everybody it takes to believe that nobody will move: a
// server needs a moment to see that there is a deadlock. A look takes some milliseconds.
const patience = 100

// advance runs one turn, and says whether anything moved.
func (b *Bench) advance(t Turn) (moved bool) {
	a := t.actor
	for steps := 0; a.state != ended; steps++ {
		if a.state == parked {
			if t.over(steps) {
				return moved
			}
			a.state = running
			a.turn <- struct{}{}
		}
		for !b.goes(a) {
			if !t.sits {
				return moved
			}
		}
		moved = true
		b.settle()
	}
	return moved
}

// settle lets everybody who was waiting and no longer is come to the next step.
func (b *Bench) settle() {
	for _, a := range b.actors {
		if a.state == running {
			b.goes(a)
		}
	}
}

// goes waits until a is at its next step, or says false because the one that it is
// in waits for another actor.
func (b *Bench) goes(a *Actor) bool {
	looks := 0
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case n := <-a.news:
			if b.heard(a, n) {
				return true
			}
			continue
		case <-b.ctx.Done():
			panic(stopped{b.ctx.Err()})
		case <-tick.C:
		}
		s := a.step.Load()
		if s == nil || s.probe == nil || !s.probe(b.ctx) {
			looks = 0
			continue
		}
		if looks++; !a.waits && looks < certain {
			continue
		}
		if !a.waits {
			a.waits = true
			n := b.rec.add(Event{Actor: a.Name, Server: s.event.Server, Kind: s.event.Kind, What: s.event.What, Waits: true, Note: "waits …"})
			b.rec.open(WaitSpan, a.Name, s.event.What, n)
		}
		return false
	}
}

// certain is how many looks in a row must find that a step waits: a server also waits
// for a moment before it refuses.
const certain = 5

// hear waits until the actor is before a step or at its end.
func (b *Bench) hear(a *Actor) {
	for {
		select {
		case n := <-a.news:
			if b.heard(a, n) {
				return
			}
		case <-b.ctx.Done():
			panic(stopped{b.ctx.Err()})
		}
	}
}

// heard notes what an actor told, and says whether it is at rest now.
func (b *Bench) heard(a *Actor, n news) bool {
	if n.done != nil {
		a.step.Store(nil)
		b.done(a, n.done)
		return false
	}
	a.state, a.next = parked, n.next
	if n.ended {
		a.state = ended
		if n.err != nil {
			panic(stopped{n.err})
		}
	}
	b.check() // what the script did after the step is a part of it
	return true
}

// done writes a step into the timeline.
func (b *Bench) done(a *Actor, s *Step) {
	n := b.rec.add(s.event)
	if a.waits {
		a.waits = false
		b.rec.end(WaitSpan, a.Name, "", n)
	}
	for _, c := range s.spans {
		if c.open {
			b.rec.open(c.kind, a.Name, c.label, n)
		} else {
			b.rec.end(c.kind, a.Name, c.label, n)
		}
	}
}

// unstick ends the steps of those who wait for each other.
func (b *Bench) unstick() {
	var waiting []*Actor
	for _, a := range b.actors {
		if a.state == running {
			waiting = append(waiting, a)
		}
	}
	if !b.mayStick {
		panic(stopped{fmt.Errorf("%w, which this experiment does not expect", ErrStuck)})
	}
	b.stuck.Add(int64(len(waiting)))
	b.check()
	for _, a := range waiting {
		if s := a.step.Load(); s != nil {
			s.cancel()
		}
	}
	for _, a := range waiting {
		b.hear(a)
	}
}

// ForEver is the rule that nobody waits for ever. Without it, actors who do make the
// experiment fail.
func (b *Bench) ForEver(name Text) {
	b.mayStick = true
	b.AtMost(name, 0, b.stuck.Load)
}

// skipError says why these servers cannot show a case.
type skipError struct{ why Text }

func (e *skipError) Error() string { return "these servers cannot show it: " + e.why.EN }

// Skip ends the case because these servers cannot show it.
func (b *Bench) Skip(why Text) { panic(stopped{&skipError{why}}) }
