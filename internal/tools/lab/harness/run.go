package harness

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// Run is one run of a case.
type Run struct {
	ctx     context.Context
	servers *Servers
	rec     *recorder
	prefix  string // of every key, so that a shared server is left as it was

	actors          []*Actor
	running         sync.WaitGroup
	rules           []*rule
	reported        []Number
	inside          atomic.Int64
	deadlocked      atomic.Int64
	deadlockAllowed bool
	schedule        []Planned
	needsReal       bool

	mu       sync.Mutex // of stops
	redis    *redis.Client
	db       *sql.DB
	observer *sql.Conn // asks the server which connections wait
	holders  sync.Map  // lock key ─▶ the actor that acquired it last and has not released it
	network  *Proxy    // in front of the database
	stops    []func()
}

// Ctx returns a context that ends with the case.
func (run *Run) Ctx() context.Context { return run.ctx }

// Key returns a name that no other run uses.
func (run *Run) Key(name string) string { return run.prefix + name }

// OnStop adds a cleanup that runs when the case is over; the last added runs first.
func (run *Run) OnStop(stop func()) {
	run.mu.Lock()
	defer run.mu.Unlock()
	run.stops = append(run.stops, stop)
}

// Must ends the case if err is not nil.
func (run *Run) Must(err error) {
	if err != nil {
		panic(stopped{err})
	}
}

// caseLimit bounds one case.
const caseLimit = time.Minute

// runCase runs one case, and always ends its actors and cleans up.
func runCase(ctx context.Context, servers *Servers, c Case, needs []Server) (CaseResult, error) {
	ctx, cancel := context.WithTimeout(ctx, caseLimit)
	defer cancel()
	run := &Run{ctx: ctx, servers: servers, rec: newRecorder(), prefix: "lab-" + strings.ToLower(rand.Text()[:8]) + ":"}
	result := CaseResult{Label: c.Label, Wrong: c.Wrong}
	failed := run.capture(func() {
		run.connect(needs)
		c.Script(run)
		result.Numbers, result.Anomaly = run.evaluate()
	})
	cancel() // ends the actors that have not finished
	drained := make(chan struct{})
	go func() { run.running.Wait(); close(drained) }()
	for done := false; !done; {
		select {
		case <-drained:
			done = true
		default:
			for _, a := range run.actors {
				select {
				case <-a.reports:
				case <-time.After(time.Millisecond):
				}
			}
		}
	}
	for _, stop := range slices.Backward(run.stops) {
		stop()
	}
	for _, a := range run.actors {
		result.Actors = append(result.Actors, a.Name)
	}
	result.Events, result.Spans, result.Schedule = run.rec.events, run.rec.spans, run.schedule
	result.translate()
	if skip := (*skipError)(nil); errors.As(failed, &skip) {
		result.NotRun = &skip.why
		return result, nil
	}
	return result, failed
}

// connect opens what the actors share, before they begin.
func (run *Run) connect(needs []Server) {
	run.needsReal = slices.Contains(needs, RealRedis)
	if run.needsReal || slices.Contains(needs, Redis) {
		run.Redis()
	}
	if slices.Contains(needs, Database) {
		run.DB()
	}
}

// capture runs the script and returns the error that ended it.
func (run *Run) capture(play func()) (err error) {
	defer func() {
		switch end := recover().(type) {
		case nil:
		case stopped:
			if err = end.err; err == nil {
				err = errors.New("the case ended early")
			}
		default:
			panic(end)
		}
	}()
	play()
	return nil
}

// Eventually waits, before the case begins, for a server to be ready.
func (run *Run) Eventually(what string, ready func() bool) {
	for began := time.Now(); !ready(); <-time.After(2 * time.Millisecond) {
		if time.Since(began) > stepLimit || run.ctx.Err() != nil {
			run.Must(fmt.Errorf("not ready in time: %s", what))
		}
	}
}
