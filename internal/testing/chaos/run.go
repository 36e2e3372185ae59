package chaos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Options configure a run.
type Options struct {
	Program  string  // a seckill that was built with the tag faults
	Before   string  // an earlier build, which is upgraded; default: this one
	Lock     string  // redis, or none: the lock that excludes no caller; default redis
	Mode     string  // one of Modes; default Sync
	Tokens   bool    // buying needs a purchase token
	Faults   []Fault // of that mode; each is played once before any is played again
	Rounds   int     // in all; default: each fault once
	Seed     uint64  // of the first round; the next rounds' follow it
	Requests int     // taps in a round; default 1000
	// Attackers is how many a flood has at once; default 300.
	Attackers int
	// AtRestWithin is how long after the last fault, or a 202 after it, something may still be open. The default
	// is 31 s: the program promises 30, and the next look decides an order that is in doubt for all of them.
	AtRestWithin time.Duration
	Parallel     int // rounds at once, each with stores of its own; default 2

	// Each is called with every round as it ends, one after the other; may be nil.
	Each func(Result)
	// Log receives everything else; may be nil.
	Log func(format string, args ...any)
}

// Check refuses options that make no sense, by their flags' names, and finds the earlier build.
func (o *Options) Check() error {
	switch {
	case o.Lock != "redis" && o.Lock != unlocked:
		return fmt.Errorf("--lock: %q is neither redis nor none", o.Lock)
	case !slices.Contains(Modes, o.Mode):
		return fmt.Errorf("--mode: %q is none of %s", o.Mode, strings.Join(Modes, ", "))
	case o.Rounds < 0 || o.Requests < 3 || o.Parallel < 1 || o.Attackers < 1:
		return errors.New("--rounds, --requests, --attackers and --parallel must be above 0, --requests at least 3")
	case o.Before == "":
		return nil
	}
	path, err := exec.LookPath(o.Before)
	if err == nil {
		o.Before, err = filepath.Abs(path)
	}
	if err != nil {
		return fmt.Errorf("--before: %w", err)
	}
	return nil
}

func (o Options) withDefaults() Options {
	o.Lock = cmp.Or(o.Lock, "redis")
	o.Mode = cmp.Or(o.Mode, Sync)
	o.Rounds = cmp.Or(o.Rounds, len(o.Faults))
	o.Requests = cmp.Or(o.Requests, 1000)
	o.Attackers = cmp.Or(o.Attackers, 300)
	o.Parallel = cmp.Or(o.Parallel, 2)
	o.AtRestWithin = cmp.Or(o.AtRestWithin, 31*time.Second)
	if o.Each == nil {
		o.Each = func(Result) {}
	}
	if o.Log == nil {
		o.Log = func(string, ...any) {}
	}
	return o
}

// job is one round to be played.
type job struct {
	cell Fault
	seed uint64
}

// roundsPerEnvironment bounds how many rounds an environment is used for. A new one begins with
// empty tables.
const roundsPerEnvironment = 40

// faultOf returns the fault of a round: every fault in turn, and if there are fewer rounds than faults, some
// that lie evenly in their list, which is by family. Which ones is drawn by the seed.
func (o Options) faultOf(n int) Fault {
	all := len(o.Faults)
	if o.Rounds >= all {
		return o.Faults[n%all]
	}
	return o.Faults[(n*all/o.Rounds+int(o.Seed%uint64(all)))%all] //nolint:gosec // an index
}

// batches distributes the rounds: rounds of one kind of environment go together.
func (o Options) batches() [][]job {
	open := map[kind][]job{}
	var order []kind
	var full [][]job
	size := min(roundsPerEnvironment, max(4, (o.Rounds+o.Parallel-1)/o.Parallel))
	for n := range o.Rounds {
		c := o.faultOf(n)
		if open[c.kind] == nil {
			order = append(order, c.kind)
		}
		open[c.kind] = append(open[c.kind], job{c, o.Seed + uint64(n)})
		if len(open[c.kind]) == size {
			full = append(full, open[c.kind])
			open[c.kind] = []job{}
		}
	}
	for _, k := range order {
		if len(open[k]) > 0 {
			full = append(full, open[k])
		}
	}
	return full
}

// Run plays all rounds and ends each process that it started. When ctx ends, the rounds in progress are
// abandoned. The error is for what kept rounds from being played.
func Run(ctx context.Context, o Options) error {
	o = o.withDefaults()
	if len(o.Faults) == 0 {
		return errors.New("no cells to play")
	}
	quietly()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	todo := make(chan []job)
	var lanes sync.WaitGroup
	var told sync.Mutex
	batches := o.batches()
	for range min(o.Parallel, len(batches)) {
		lanes.Go(func() {
			for batch := range todo {
				err := (&worker{Options: o}).play(ctx, batch, &told)
				if err != nil {
					cancel(err)
				}
			}
		})
	}
	for _, batch := range batches {
		select {
		case todo <- batch:
		case <-ctx.Done():
		}
	}
	close(todo)
	lanes.Wait()
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

// worker plays rounds, one after the other, on an environment that it replaces when a round could
// not be played on it.
type worker struct {
	Options
	env *environment
}

func (l *worker) play(ctx context.Context, batch []job, told *sync.Mutex) error {
	defer l.leave(ctx)
	for _, j := range batch {
		result, err := l.try(ctx, j)
		if ctx.Err() != nil {
			return nil // an interrupted run breaks rounds without an error
		}
		if err != nil {
			return fmt.Errorf("%s, seed %d: %w", j.cell.Name, j.seed, err)
		}
		result.Lock, result.Mode = l.Lock, l.Mode
		told.Lock()
		l.Each(result)
		told.Unlock()
	}
	return nil
}

const (
	roundWithin = 3 * time.Minute // a round that takes longer hangs
	playTries   = 3
)

// try plays one round, and again on a new environment if it could not be played.
func (l *worker) try(ctx context.Context, j job) (result Result, err error) {
	for range playTries {
		if result, err = l.once(ctx, j); err == nil || ctx.Err() != nil {
			return result, err
		}
		l.Log("%s, seed %d: %v", j.cell.Name, j.seed, err)
		l.leave(ctx)
	}
	return result, err
}

func (l *worker) once(ctx context.Context, j job) (_ Result, err error) {
	if l.env == nil {
		if j.cell.kind == upgraded && l.Before == "" {
			l.Log("no earlier build is given (--before): each instance is replaced by the same build")
		}
		if l.env, err = openEnvironment(ctx, l.Options, j.cell.kind); err != nil {
			return Result{}, err
		}
	}
	within, cancel := context.WithTimeout(ctx, roundWithin)
	defer cancel()
	result, err := l.env.play(within, j.cell, j.seed, l.Requests, l.Attackers, l.AtRestWithin)
	if l.env.spent {
		l.leave(ctx)
	}
	return result, err
}

// leave ends the environment, and logs what did not end in order.
func (l *worker) leave(ctx context.Context) {
	if l.env == nil {
		return
	}
	if err := l.env.Close(); err != nil && ctx.Err() == nil {
		l.Log("a %s environment: %v", l.env.kind, err)
	}
	l.env = nil
}
