// Package breaker keeps a server that is away from stalling everybody who asks it.
//
//	answers ─▶ three silences in a row ─▶ away: refused at once, without asking
//	   ▲                                    │
//	   └──────── it answers its own ping ◀──┘  asked every 100 ms, by nobody's request
//
// A server is away when it is gone, stopped, or behind a network that swallows
// everything: the one that gives no answer costs its callers a whole timeout each,
// and is what this is for. No caller is ever sent ahead to find out whether it is
// back, because that one would wait.
//
// It does not promise that a server which is not away will answer. The room exists
// because Redis and the database are both asked by many rooms, and each server has
// one breaker.
package breaker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/failsafe-go/failsafe-go/circuitbreaker"
)

// ErrAway says that the server is known to be away, and was not asked.
var ErrAway = errors.New("it does not answer and is left alone until it does")

// ErrGone is answered by Options.Ask when nobody will want the server any more.
var ErrGone = errors.New("breaker: gone")

const (
	silences = 3 // in a row, until a server is taken to be away
	askEvery = 100 * time.Millisecond
	slack    = 20 * time.Millisecond
	never    = 1 << 62 // the library would let a caller try after this
)

// Options are what a Breaker is made of.
type Options struct {
	Name    string                          // of the server, for the log and the errors
	Ask     func(ctx context.Context) error // asks the server, past the breaker; nil if it answers
	Timeout time.Duration                   // of one such question
	Log     *slog.Logger                    // nil is slog.Default
	Changed func(name string, away bool)    // called by New and at every change, for metrics; may be nil
}

// Breaker watches one server. Its methods are safe for concurrent use.
type Breaker struct {
	o       Options
	circuit circuitbreaker.CircuitBreaker[any]
	stop    context.CancelFunc
	asking  sync.WaitGroup
}

// New makes a Breaker for a server that is taken to answer. Close ends it.
func New(o Options) *Breaker {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	b := &Breaker{o: o}
	b.changed(false)
	ctx, stop := context.WithCancel(context.Background())
	b.stop = stop
	b.circuit = circuitbreaker.NewBuilder[any]().WithFailureThreshold(silences).WithDelay(never).
		OnOpen(func(circuitbreaker.StateChangedEvent) { b.asking.Go(func() { b.ask(ctx) }) }).Build()
	return b
}

// Away is nil, or an ErrAway that names the server.
func (b *Breaker) Away() error {
	if b.circuit.TryAcquirePermit() {
		return nil
	}
	return fmt.Errorf("%s: %w", b.o.Name, ErrAway)
}

// Answered notes that the server gave an answer, whatever it said.
func (b *Breaker) Answered() { b.circuit.RecordSuccess() }

// Silent notes that the server could not be reached or gave no answer in time.
func (b *Breaker) Silent() { b.circuit.RecordFailure() }

// Close ends the questions. The server then stays as it was last known to be.
func (b *Breaker) Close() {
	b.stop()
	b.asking.Wait()
}

// Over says whether a caller's time has run out, or is about to: a call that it cut
// short may come back a moment before the context says so.
func Over(ctx context.Context) bool {
	until, bounded := ctx.Deadline()
	return ctx.Err() != nil || bounded && time.Until(until) < slack
}

// ask runs while the server is away.
func (b *Breaker) ask(ctx context.Context) {
	since := time.Now()
	b.o.Log.Warn("a server does not answer and is left alone until it does", "server", b.o.Name)
	b.changed(true)
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	for {
		one, cancel := context.WithTimeout(ctx, b.o.Timeout)
		err := b.o.Ask(one)
		cancel()
		switch {
		case err == nil:
			b.o.Log.Info("a server answers again", "server", b.o.Name, "after", time.Since(since))
			b.changed(false) // first, so that whoever is let through again finds it told
			b.circuit.Close()
			return
		case errors.Is(err, ErrGone):
			b.changed(false)
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (b *Breaker) changed(away bool) {
	if b.o.Changed != nil {
		b.o.Changed(b.o.Name, away)
	}
}
