package chaos

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Options say what is to be played.
type Options struct {
	Program  string // a seckill that was built with the tag faults
	Lock     string // redis, or none: the lock that lets everybody in; default redis
	Cells    []Cell // each is played once before any is played again
	Rounds   int    // in all; default: each cell once
	Seed     uint64 // of the first round; the next rounds' follow it
	Requests int    // taps in a round; default 1000
	// SettleWithin is how long after the last fault something may still be open;
	// default 30 s, which is what the program promises.
	SettleWithin time.Duration
	Lanes        int // rounds at once, each with stores of its own; default 2

	// Each is told of every round as it ends, one after the other; may be nil.
	Each func(Result)
	// Log is told what happens besides; may be nil.
	Log func(format string, args ...any)
}

func (o Options) withDefaults() Options {
	if o.Lock == "" {
		o.Lock = "redis"
	}
	if o.Rounds == 0 {
		o.Rounds = len(o.Cells)
	}
	if o.Requests == 0 {
		o.Requests = 1000
	}
	if o.Lanes == 0 {
		o.Lanes = 2
	}
	if o.SettleWithin == 0 {
		o.SettleWithin = 30 * time.Second
	}
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
	cell Cell
	seed uint64
}

// onOneBed bounds how many rounds a bed is used for. A new one begins with empty
// tables.
const onOneBed = 40

// batches deals the rounds out: rounds of one kind of bed go together.
func (o Options) batches() [][]job {
	open := map[kind][]job{}
	var order []kind
	var full [][]job
	size := min(onOneBed, max(4, (o.Rounds+o.Lanes-1)/o.Lanes))
	for n := range o.Rounds {
		c := o.Cells[n%len(o.Cells)]
		if open[c.kind] == nil {
			order = append(order, c.kind)
		}
		open[c.kind] = append(open[c.kind], job{c, o.Seed + uint64(n)})
		if len(open[c.kind]) == size {
			full = append(full, open[c.kind])
			open[c.kind] = []job{}
		}
	}
	seen := map[kind]bool{}
	for _, k := range order {
		if !seen[k] && len(open[k]) > 0 {
			full = append(full, open[k])
		}
		seen[k] = true
	}
	return full
}

// Run plays all rounds and ends what it started. When ctx ends, the rounds that are
// being played are given up. The error is for what kept rounds from being played.
func Run(ctx context.Context, o Options) error {
	o = o.withDefaults()
	if len(o.Cells) == 0 {
		return errors.New("no cells to play")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	todo := make(chan []job)
	var lanes sync.WaitGroup
	var mu sync.Mutex
	var failed error
	batches := o.batches()
	for range min(o.Lanes, len(batches)) {
		lanes.Go(func() {
			for batch := range todo {
				if err := o.play(ctx, batch, &mu); err != nil {
					mu.Lock()
					failed = errors.Join(failed, err)
					mu.Unlock()
					cancel()
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
	return failed
}

// play plays a batch on a bed. A bed on which a round could not be played is replaced.
func (o Options) play(ctx context.Context, batch []job, mu *sync.Mutex) (err error) {
	var b *bed
	closeBed := func() {
		if b != nil {
			if failed := b.close(); failed != nil && ctx.Err() == nil {
				o.Log("%s bed: %v", b.kind, failed)
			}
			b = nil
		}
	}
	defer closeBed()
	for _, j := range batch {
		for try := 1; ; try++ {
			if ctx.Err() != nil {
				return nil
			}
			if b == nil {
				if b, err = openBed(ctx, o.Program, o.Lock, j.cell.kind); err != nil {
					return o.unless(ctx, err)
				}
			}
			bound, cancel := context.WithTimeout(ctx, roundWithin)
			result, err := b.play(bound, j.cell, j.seed, o.Requests, o.SettleWithin)
			cancel()
			if err == nil {
				result.Lock = o.Lock
				mu.Lock()
				o.Each(result)
				mu.Unlock()
				break
			}
			closeBed()
			if ctx.Err() == nil {
				o.Log("%s, seed %d: %v", j.cell.Name, j.seed, err)
			}
			if try == playTries {
				return o.unless(ctx, fmt.Errorf("%s, seed %d: %w", j.cell.Name, j.seed, err))
			}
		}
	}
	return nil
}

const (
	roundWithin = 3 * time.Minute // a round that takes longer hangs
	playTries   = 3
)

// unless keeps silent about what an end that was asked for has broken.
func (o Options) unless(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}
