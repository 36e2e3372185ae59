package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	section   = 2 * time.Millisecond
	processes = 4 // of the contest between processes
)

// figures are what one round gives for one lock.
type figures struct {
	P50, P99     time.Duration // acquire and release, uncontended
	Raw          time.Duration // two raw round trips, p50
	Bare         time.Duration // the sections of a contest without any lock
	Trips        time.Duration // the same with one round trip after each
	One, Four    time.Duration // the contest within a process, and between four
	AloneSent    float64       // commands per acquisition, uncontended
	OneSent      float64       // the same in the contests
	FourSent     float64
	Overlaps     int64
	Acquisitions int
}

func (set *serverSet) measureAll(ctx context.Context, s settings) (_ *report, err error) {
	all, err := set.candidates()
	defer func() {
		for _, c := range all {
			err = errors.Join(err, c.close())
		}
	}()
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(c candidate) bool {
		if strings.Contains(c.name, s.only) {
			return false
		}
		err = errors.Join(err, c.close())
		return true
	})
	r := &report{settings: s, Environment: set.environment(ctx)}
	rounds := make([][]figures, len(all))
	for round := range s.rounds {
		for i, c := range all {
			fmt.Fprintf(os.Stderr, "round %d of %d: %s\n", round+1, s.rounds, c.name)
			f, err := c.measure(ctx, s, round)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.name, err)
			}
			rounds[i] = append(rounds[i], f)
		}
	}
	var bare, tripped []time.Duration
	for i, c := range all {
		r.Rows = append(r.Rows, rowOf(c, rounds[i]))
		bare = append(bare, each(rounds[i], func(f figures) time.Duration { return f.Bare })...)
		if c.trip != nil {
			tripped = append(tripped, each(rounds[i], func(f figures) time.Duration { return f.Trips })...)
		}
	}
	r.Bare, r.Tripped = median(bare), median(tripped)
	return r, err
}

// sections is how long n sections take without any lock: the machine's sleep is
// longer than what it was asked for. Each is followed by after.
func sections(n int, after func() error) (time.Duration, error) {
	start := time.Now()
	for range n {
		time.Sleep(section)
		if err := after(); err != nil {
			return 0, err
		}
	}
	return time.Since(start), nil
}

func (c candidate) measure(ctx context.Context, s settings, round int) (f figures, err error) {
	if err := c.alone(ctx, s, &f); err != nil {
		return f, fmt.Errorf("alone: %w", err)
	}
	if f.Bare, err = sections(s.workers*s.repeats, nothing); err != nil {
		return f, err
	}
	if c.trip != nil {
		if f.Trips, err = sections(s.workers*s.repeats, func() error { return c.trip(ctx) }); err != nil {
			return f, fmt.Errorf("one round trip: %w", err)
		}
	}
	key := "user:" + strconv.Itoa(100+round)
	if f.One, f.OneSent, err = c.contest(ctx, s, 1, key, &f); err != nil {
		return f, fmt.Errorf("in one process: %w", err)
	}
	if f.Four, f.FourSent, err = c.contest(ctx, s, processes, key, &f); err != nil {
		return f, fmt.Errorf("between processes: %w", err)
	}
	return f, nil
}

// alone takes turns: two raw round trips, then acquire and release.
func (c candidate) alone(ctx context.Context, s settings, f *figures) (err error) {
	p, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	take, err := p.worker(ctx)
	if err != nil {
		return err
	}
	pairs, warm := s.pairs, s.pairs/10
	if c.durable {
		pairs /= 5
	}
	var trips, locks []time.Duration
	for i := range pairs + warm {
		start := time.Now()
		if err := c.raw(ctx); err != nil {
			return fmt.Errorf("raw round trips: %w", err)
		}
		raw := time.Since(start)
		start = time.Now()
		if err := take.pass(ctx, "user:1", nil); err != nil {
			return err
		}
		if i >= warm {
			trips, locks = append(trips, raw), append(locks, time.Since(start))
		}
	}
	f.Raw, f.P50, f.P99 = quantile(trips, 0.5), quantile(locks, 0.5), quantile(locks, 0.99)
	const counted = 100
	f.AloneSent, err = c.count(ctx, counted, func() error {
		for range counted {
			if err := take.pass(ctx, "user:1", nil); err != nil {
				return err
			}
		}
		return nil
	})
	return err
}

// pass is one acquisition, with work inside.
func (a acquire) pass(ctx context.Context, key string, work func()) error {
	done, err := a(ctx, key)
	if err != nil {
		return err
	}
	if work != nil {
		work()
	}
	return done(ctx)
}

// count returns the commands per acquisition during do.
func (c candidate) count(ctx context.Context, acquisitions int, do func() error) (float64, error) {
	before, err := c.sent(ctx)
	if err != nil {
		return 0, err
	}
	if err := do(); err != nil {
		return 0, err
	}
	after, err := c.sent(ctx)
	return float64(after-before-c.own) / float64(acquisitions), err
}

// contest lets all workers go through the sections of one key at once. The
// connections are there before the clock starts.
func (c candidate) contest(ctx context.Context, s settings, n int, key string, f *figures) (_ time.Duration, sent float64, err error) {
	var workers []acquire
	for range n {
		p, err2 := c.open(ctx)
		if err2 != nil {
			return 0, 0, err2
		}
		defer func() { err = errors.Join(err, p.close()) }()
		for w := range s.workers / n {
			take, err := p.worker(ctx)
			if err == nil {
				err = take.pass(ctx, "warm:"+strconv.Itoa(w), nil)
			}
			if err != nil {
				return 0, 0, err
			}
			workers = append(workers, take)
		}
	}
	var g gate
	var took time.Duration
	sent, err = c.count(ctx, s.workers*s.repeats, func() error {
		start := time.Now()
		err := race(workers, func(take acquire) error {
			for range s.repeats {
				if err := take.pass(ctx, key, func() { g.pass(func() { time.Sleep(section) }) }); err != nil {
					return err
				}
			}
			return nil
		})
		took = time.Since(start)
		return err
	})
	f.Overlaps += g.overlaps.Load()
	f.Acquisitions += s.workers * s.repeats
	return took, sent, err
}

// race starts all at once and waits for the last.
func race(workers []acquire, do func(acquire) error) error {
	errs := make([]error, len(workers))
	var all sync.WaitGroup
	for i, w := range workers {
		all.Go(func() { errs[i] = do(w) })
	}
	all.Wait()
	return errors.Join(errs...)
}
