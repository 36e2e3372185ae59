// Package breaker keeps a backend that is down from stalling its callers.
//
//	closed ─▶ three failures in a row ─▶ open: calls are refused at once
//	   ▲                                   │
//	   └──────── its probe succeeds ◀──────┘  every 100 ms, never with a caller's request
//
// A backend is down when it is gone, stopped, or behind a network that drops every packet. A backend that
// does not respond costs each caller a whole timeout, and the breaker prevents that cost. There is no
// half-open state: a call that tests whether the backend is back would wait, so only the probe does the
// test.
//
// A closed circuit does not promise that the backend responds. The package exists because many packages
// call Redis and the database, and each server has one breaker.
package breaker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/failsafe-go/failsafe-go/circuitbreaker"
)

var (
	// ErrOpen reports that the circuit is open: the backend was not called.
	ErrOpen = errors.New("circuit open: backend not responding")
	// ErrStop ends the probes: Options.Probe returns it when the backend is not needed any more.
	ErrStop = errors.New("breaker: stop probing")
)

const (
	failureThreshold = 3 // in a row
	probeInterval    = 100 * time.Millisecond
	deadlineSlack    = 20 * time.Millisecond
	never            = 1 << 62 // the library lets a call test the backend after this delay
)

// Outcome is the state of the backend that the error of a call shows.
type Outcome uint8

// The outcomes of a call.
const (
	Unresponsive Outcome = iota // the backend was not reached, or did not answer in time
	Responsive                  // the backend answered, if only with an error
	Inconclusive                // the call ended for a reason of its own
)

// Options configure a Breaker.
type Options struct {
	Name         string                          // of the backend, for the log and the errors
	CallTimeout  time.Duration                   // how long the backend may take to answer a call
	Outcome      func(err error) Outcome         // classifies the error of a call
	Probe        func(ctx context.Context) error // calls the backend past the breaker; nil if it answers
	ProbeTimeout time.Duration                   // of one probe
	Log          *slog.Logger                    // nil is slog.Default
	OnChange     func(name string, open bool)    // receives the first state and every change, for metrics; may be nil
}

// Breaker watches one backend. Its methods are safe for concurrent use.
type Breaker struct {
	o       Options
	circuit circuitbreaker.CircuitBreaker[any]
	stop    context.CancelFunc
	probing sync.WaitGroup
}

// New returns a Breaker whose circuit is closed. Close releases it.
func New(o Options) *Breaker {
	o.Log = cmp.Or(o.Log, slog.Default())
	b := &Breaker{o: o}
	ctx, stop := context.WithCancel(context.Background())
	b.stop = stop
	b.circuit = circuitbreaker.NewBuilder[any]().WithFailureThreshold(failureThreshold).WithDelay(never).
		OnOpen(func(circuitbreaker.StateChangedEvent) { b.probing.Go(func() { b.probe(ctx) }) }).Build()
	b.changed(false)
	return b
}

// Do runs call and records its outcome, or returns an ErrOpen that names the backend. If a call fails
// because its caller had hardly any time left, the outcome is inconclusive.
func (b *Breaker) Do(ctx context.Context, call func() error) error {
	if !b.circuit.TryAcquirePermit() {
		return fmt.Errorf("%s: %w", b.o.Name, ErrOpen)
	}
	began := time.Now()
	err := call()
	switch outcome := b.o.Outcome(err); {
	case outcome == Responsive:
		b.circuit.RecordSuccess()
	case outcome == Inconclusive:
	case deadlineNear(ctx) && time.Since(began) < b.o.CallTimeout/2:
	default:
		b.circuit.RecordFailure()
	}
	return err
}

// Close ends the probes. The circuit stays as it is.
func (b *Breaker) Close() {
	b.stop()
	b.probing.Wait()
}

// deadlineNear reports whether ctx has ended or is about to: a call that a deadline cuts
// short may return a moment before the context ends.
func deadlineNear(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ctx.Err() != nil || ok && time.Until(deadline) < deadlineSlack
}

// probe probes the backend while the circuit is open. It closes the circuit when the backend answers.
func (b *Breaker) probe(ctx context.Context) {
	since := time.Now()
	b.o.Log.Warn("circuit open: backend not responding", "backend", b.o.Name)
	b.changed(true)
	tick := time.NewTicker(probeInterval)
	defer tick.Stop()
	for {
		one, cancel := context.WithTimeout(ctx, b.o.ProbeTimeout)
		err := b.o.Probe(one)
		cancel()
		switch {
		case err == nil:
			b.o.Log.Info("circuit closed: backend responding", "backend", b.o.Name, "after", time.Since(since))
			b.changed(false) // first, so that a call that passes finds the change reported
			b.circuit.Close()
			return
		case errors.Is(err, ErrStop):
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

func (b *Breaker) changed(open bool) {
	if b.o.OnChange != nil {
		b.o.OnChange(b.o.Name, open)
	}
}
