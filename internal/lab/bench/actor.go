package bench

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"seckill/internal/lock"
)

// Actor is one process of an experiment: it runs its script in steps, each when the
// schedule lets it.
type Actor struct {
	Name string
	b    *Bench

	turn chan struct{}
	news chan news

	// Of the director.
	state state
	next  string // the step that it is parked before, or in
	waits bool   // it was seen waiting in that step

	step atomic.Pointer[Step] // that it is in

	conn   *sql.Conn
	thread atomic.Int64 // the connection's number at the server
	locker *Locker
	leases map[string]*lock.Lease
}

type state int

const (
	parked  state = iota // before a step
	running              // in one
	ended
)

// news is what an actor tells the director: a step that is done, or where it is now.
type news struct {
	done  *Step
	next  string // it is parked before this step
	ended bool
	err   error
}

// stopped ends an actor's script, or the whole case, from within.
type stopped struct{ err error }

// ErrStuck ends the step of an actor that waits for somebody who waits for it.
var ErrStuck = errors.New("everybody waits for somebody else")

// Step is one step of an actor while it runs.
type Step struct {
	Ctx    context.Context
	event  Event
	probe  func(ctx context.Context) bool // asks whether it waits for another actor
	cancel context.CancelFunc
	spans  []change
}

type change struct {
	kind  SpanKind
	label string
	open  bool
}

// Note is what came of the step, as the timeline tells it.
func (s *Step) Note(format string, args ...any) { s.event.Note = fmt.Sprintf(format, args...) }

// Open begins a span with this step.
func (s *Step) Open(kind SpanKind, label string) {
	s.spans = append(s.spans, change{kind, label, true})
}

// End ends the actor's span with this step; an empty label is the latest.
func (s *Step) End(kind SpanKind, label string) {
	s.spans = append(s.spans, change{kind, label, false})
}

// stepLimit bounds one step: longer than any server is slow.
const stepLimit = 20 * time.Second

// Actor adds an actor, and takes it to its first step.
func (b *Bench) Actor(name string, script func(a *Actor)) *Actor {
	a := &Actor{Name: name, b: b, turn: make(chan struct{}), news: make(chan news, 2), leases: map[string]*lock.Lease{}}
	b.actors = append(b.actors, a)
	b.running.Go(func() {
		defer func() {
			n := news{ended: true}
			switch end := recover().(type) {
			case nil:
			case stopped:
				n.err = end.err
			default:
				panic(end)
			}
			a.news <- n
		}()
		script(a)
	})
	b.hear(a)
	return a
}

// Do is one step: it runs when the schedule comes to it. what names it in the
// timeline and for the schedule.
func (a *Actor) Do(server Server, kind Kind, what string, do func(s *Step) error) error {
	return a.DoWaiting(server, kind, what, nil, do)
}

// DoWaiting is Do for a step that may have to wait for another actor; waiting asks
// whether it does.
func (a *Actor) DoWaiting(server Server, kind Kind, what string, waiting func(ctx context.Context) bool,
	do func(s *Step) error,
) error {
	a.park(what)
	ctx, cancel := context.WithTimeout(a.b.ctx, stepLimit)
	defer cancel()
	s := &Step{
		Ctx: ctx, cancel: cancel, probe: waiting,
		event: Event{Actor: a.Name, Server: server, Kind: kind, What: what},
	}
	a.step.Store(s)
	err := do(s)
	if err != nil {
		s.event.Failed = true
		if s.event.Note == "" {
			s.event.Note = brief(err)
		}
		if ctx.Err() != nil && a.b.stuck.Load() > 0 {
			s.event.Note, err = "gives up", errors.Join(ErrStuck, err)
		}
	}
	a.tell(news{done: s})
	return err
}

// park waits until the schedule lets the step begin.
func (a *Actor) park(what string) {
	a.tell(news{next: what})
	select {
	case <-a.turn:
	case <-a.b.ctx.Done():
		panic(stopped{a.b.ctx.Err()})
	}
}

func (a *Actor) tell(n news) {
	select {
	case a.news <- n:
	case <-a.b.ctx.Done():
		panic(stopped{a.b.ctx.Err()})
	}
}

// Must is Do for a step that has to succeed; if it does not, the case cannot be
// played.
func (a *Actor) Must(server Server, kind Kind, what string, do func(s *Step) error) {
	a.must(what, a.Do(server, kind, what, do))
}

// must ends the experiment if a step failed that should not have.
func (a *Actor) must(what string, err error) {
	switch {
	case err == nil:
	case errors.Is(err, ErrStuck):
		panic(stopped{})
	default:
		panic(stopped{fmt.Errorf("%s: %s: %w", a.Name, what, err)})
	}
}

// Dies ends the actor as kill -9 would: nothing is given back.
func (a *Actor) Dies() {
	_ = a.Do(Process, Trouble, "dies", func(s *Step) error {
		s.Note("✝")
		s.End(InsideSpan, "")
		return nil
	})
	panic(stopped{})
}

// brief is what a timeline has room for.
func brief(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	if r := []rune(text); len(r) > 70 {
		return string(r[:69]) + "…"
	}
	return text
}

// Bench is where the actor plays.
func (a *Actor) Bench() *Bench { return a.b }

// Stops ends the actor's script.
func (a *Actor) Stops() { panic(stopped{}) }

// MustWaiting is Must for a step that may have to wait for another actor.
func (a *Actor) MustWaiting(server Server, kind Kind, what string, waiting func(ctx context.Context) bool, do func(s *Step) error) {
	a.must(what, a.DoWaiting(server, kind, what, waiting, do))
}
