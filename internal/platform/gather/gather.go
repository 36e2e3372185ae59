// Package gather forms batches: what arrives while a batch is in progress is the next batch.
//
//	Add ─▶ waiting ─┐
//	Add ─▶ waiting ─┤ Serve(batch), one after the other, and a few at once if Another permits it
//	Add ─▶ waiting ─┘
//
// No batch waits until it is full, so a member that arrives while none is in progress is served at once. The
// package promises that each member is served or dropped once. It does not promise an order among the members of
// batches that are in progress at the same time. A member learns of its result from Serve, not from this package.
package gather

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Options configure a Gatherer.
type Options[T any] struct {
	Serve  func(batch []T) // is called for each batch, with at least one member; it recovers from its own panics
	Size   int             // members of a batch at most, from 1
	AtOnce int             // batches in progress at most; 0 is 1
	// Another reports whether one more batch may begin while others are in progress. It is given the numbers of members
	// that wait and that are in batches, and the time since the latest batch began. nil: it may.
	Another func(waiting, inProgress int, since time.Duration) bool
	// Drop ends a member that must not share a batch any more, and reports whether it did. It is called before the
	// member joins a batch, and every LookEvery while it waits. It must not block. nil: none is dropped.
	Drop func(T) bool
}

// LookEvery is how often a Gatherer looks at the members that wait. One timer for all of them costs less than one
// for each.
const LookEvery = 20 * time.Millisecond

// Gatherer forms batches. Its goroutines end when no member waits.
type Gatherer[T any] struct {
	o Options[T]

	mu         sync.Mutex
	waiting    []T
	workers    int
	inProgress int // members in batches
	began      time.Time
	looking    bool
	working    sync.WaitGroup
}

// New returns a Gatherer.
func New[T any](o Options[T]) *Gatherer[T] {
	o.AtOnce = max(1, o.AtOnce)
	return &Gatherer[T]{o: o}
}

// Size returns the number of members of a batch at most.
func (g *Gatherer[T]) Size() int { return g.o.Size }

// Standing returns how many members wait, and how many batches are in progress.
func (g *Gatherer[T]) Standing() (waiting, batches int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.waiting), g.workers
}

// Add hands a member over. It does not block.
func (g *Gatherer[T]) Add(v T) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = append(g.waiting, v)
	g.start()
	if !g.looking {
		g.looking = true
		time.AfterFunc(LookEvery, g.look)
	}
}

// Close waits until every member that was added is served or dropped, or ctx ends. Nothing may be added during
// Close or after it.
func (g *Gatherer[T]) Close(ctx context.Context) error {
	done := make(chan struct{})
	go func() { g.working.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("gather: batches are in progress: %w", context.Cause(ctx))
	}
}

// start begins one more worker, if one may begin. g is locked.
func (g *Gatherer[T]) start() {
	if g.mayBegin() {
		g.workers++
		g.working.Go(g.work)
	}
}

// mayBegin reports whether one more worker may begin a batch. g is locked.
func (g *Gatherer[T]) mayBegin() bool {
	switch {
	case len(g.waiting) == 0 || g.workers >= g.o.AtOnce:
		return false
	case g.workers == 0 || g.o.Another == nil:
		return true
	}
	return g.o.Another(len(g.waiting), g.inProgress, time.Since(g.began))
}

// look drops members that wait, and looks again while any wait. It also begins a batch that may begin by now.
func (g *Gatherer[T]) look() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.o.Drop != nil {
		g.waiting = slices.DeleteFunc(g.waiting, g.o.Drop)
	}
	g.start()
	if g.looking = len(g.waiting) > 0; g.looking {
		time.AfterFunc(LookEvery, g.look)
	}
}

// work serves one batch after the other until no member waits, or Another permits no more.
func (g *Gatherer[T]) work() {
	for batch := g.next(0); len(batch) > 0; batch = g.next(len(batch)) {
		g.o.Serve(batch)
	}
}

// next returns the next batch, after one of the given number of members. A worker that it returns none to must end:
// another worker, or the next member, begins the next batch. A new worker asks here once more whether it may begin,
// because another worker may have taken the members that it was begun for.
func (g *Gatherer[T]) next(done int) []T {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inProgress -= done
	g.workers--
	if !g.mayBegin() {
		return nil
	}
	g.workers++
	return g.take()
}

// take returns the members that have waited longest. Without any the worker is no longer counted. g is locked.
func (g *Gatherer[T]) take() (batch []T) {
	for len(batch) == 0 && len(g.waiting) > 0 {
		n := min(len(g.waiting), g.o.Size)
		for _, v := range g.waiting[:n] {
			if g.o.Drop == nil || !g.o.Drop(v) {
				batch = append(batch, v)
			}
		}
		g.waiting = slices.Delete(g.waiting, 0, n)
	}
	if len(batch) == 0 {
		g.workers--
		return nil
	}
	g.inProgress += len(batch)
	g.began = time.Now()
	return batch
}
