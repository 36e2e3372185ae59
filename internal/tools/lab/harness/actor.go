package harness

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"example.com/seckill/internal/lock"
)

// Actor is one process of an experiment. It runs its script in steps, each when the schedule lets it.
type Actor struct {
	Name string
	run  *Run

	turn    chan struct{}
	reports chan report

	// The scheduler's own fields.
	state state
	next  string // the step that it is parked before, or in
	waits bool   // the scheduler found it waiting in that step

	step atomic.Pointer[Step] // the step that it is in

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

// report is what an actor sends to the scheduler: a finished step, or where it is parked.
type report struct {
	done  *Step
	next  string // it is parked before this step
	ended bool
	err   error
}

// stopped ends an actor's script, or the whole case, from within.
type stopped struct{ err error }

// ErrDeadlock ends the steps of actors that wait for each other.
var ErrDeadlock = errors.New("deadlock: every actor waits for another")

// Step is one step of an actor while it runs.
type Step struct {
	Ctx    context.Context
	event  Event
	probe  func(ctx context.Context) bool // reports whether it waits for another actor
	cancel context.CancelFunc
	spans  []change
}

type change struct {
	kind  SpanKind
	label string
	open  bool
	every bool // the spans of every actor end
}

// Note sets the outcome of the step, as the timeline shows it.
func (s *Step) Note(format string, args ...any) { s.event.Note = fmt.Sprintf(format, args...) }

// Open begins a span with this step.
func (s *Step) Open(kind SpanKind, label string) {
	s.spans = append(s.spans, change{kind: kind, label: label, open: true})
}

// End ends the actor's span with this step; an empty label is the latest.
func (s *Step) End(kind SpanKind, label string) {
	s.spans = append(s.spans, change{kind: kind, label: label})
}

// Gone ends every actor's lease of a name with this step, because the server had no such key.
func (s *Step) Gone(label string) {
	s.spans = append(s.spans, change{kind: LeaseSpan, label: label, every: true})
}

// Taken begins a lease with this step. The server gave the actor the lock, so every earlier lease of that
// name is over, although its actor may still believe in it.
func (s *Step) Taken(label string) {
	s.Gone(label)
	s.Open(LeaseSpan, label)
}

// stepLimit bounds one step; a server is never that slow.
const stepLimit = 20 * time.Second

// Actor adds an actor, and runs it up to its first step.
func (run *Run) Actor(name string, script func(a *Actor)) *Actor {
	a := &Actor{Name: name, run: run, turn: make(chan struct{}), reports: make(chan report, 2), leases: map[string]*lock.Lease{}}
	run.actors = append(run.actors, a)
	run.running.Go(func() {
		defer func() {
			n := report{ended: true}
			switch end := recover().(type) {
			case nil:
			case stopped:
				n.err = end.err
			default:
				panic(end)
			}
			a.reports <- n
		}()
		script(a)
	})
	run.awaitReport(a)
	return a
}

// Do runs one step when the schedule comes to it. The argument what names the step in the timeline and for
// the schedule.
func (a *Actor) Do(server Server, kind Kind, what string, do func(s *Step) error) error {
	return a.DoWaiting(server, kind, what, nil, do)
}

// DoWaiting is Do for a step that may have to wait for another actor. The function waiting reports whether
// the step waits.
func (a *Actor) DoWaiting(server Server, kind Kind, what string, waiting func(ctx context.Context) bool,
	do func(s *Step) error,
) error {
	a.park(what)
	ctx, cancel := context.WithTimeout(a.run.ctx, stepLimit)
	defer cancel()
	s := &Step{
		Ctx: ctx, cancel: cancel, probe: waiting,
		event: Event{Actor: a.Name, Server: server, Kind: kind, What: what, trace: trace()},
	}
	a.step.Store(s)
	err := do(s)
	if err != nil {
		s.event.Failed = true
		if s.event.Note == "" {
			s.event.Note = brief(err)
		}
		if ctx.Err() != nil && a.run.deadlocked.Load() > 0 {
			s.event.Note, err = "gives up", errors.Join(ErrDeadlock, err)
		}
	}
	a.report(report{done: s})
	return err
}

// scripts is the package of the experiments' scripts.
const scripts = "example.com/seckill/internal/tools/lab."

// trace returns the lines of the scripts' package on the stack, as file:line.
func trace() (lines []string) {
	var counters [64]uintptr
	frames := runtime.CallersFrames(counters[:runtime.Callers(2, counters[:])])
	for {
		f, more := frames.Next()
		if strings.HasPrefix(f.Function, scripts) {
			lines = append(lines, filepath.Base(f.File)+":"+strconv.Itoa(f.Line))
		}
		if !more {
			return lines
		}
	}
}

// park waits until the schedule lets the step begin.
func (a *Actor) park(what string) {
	a.report(report{next: what})
	select {
	case <-a.turn:
	case <-a.run.ctx.Done():
		panic(stopped{a.run.ctx.Err()})
	}
}

func (a *Actor) report(n report) {
	select {
	case a.reports <- n:
	case <-a.run.ctx.Done():
		panic(stopped{a.run.ctx.Err()})
	}
}

// Must is Do for a step that has to succeed: if the step fails, the experiment fails.
func (a *Actor) Must(server Server, kind Kind, what string, do func(s *Step) error) {
	a.must(what, a.Do(server, kind, what, do))
}

// must ends the experiment if err is not nil.
func (a *Actor) must(what string, err error) {
	switch {
	case err == nil:
	case errors.Is(err, ErrDeadlock):
		panic(stopped{})
	default:
		panic(stopped{fmt.Errorf("%s: %s: %w", a.Name, what, err)})
	}
}

// Crash ends the actor as kill -9 would: it releases nothing.
func (a *Actor) Crash() {
	_ = a.Do(Process, Fault, "dies", func(s *Step) error {
		s.Note("✝")
		s.End(InsideSpan, "")
		return nil
	})
	panic(stopped{})
}

// brief returns the first line of err, cut to the width of a timeline.
func brief(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	if r := []rune(text); len(r) > 70 {
		return string(r[:69]) + "…"
	}
	return text
}

// Run returns the run that the actor belongs to.
func (a *Actor) Run() *Run { return a.run }

// Exit ends the actor's script.
func (a *Actor) Exit() { panic(stopped{}) }

// MustWaiting is Must for a step that may have to wait for another actor.
func (a *Actor) MustWaiting(server Server, kind Kind, what string, waiting func(ctx context.Context) bool, do func(s *Step) error) {
	a.must(what, a.DoWaiting(server, kind, what, waiting, do))
}
