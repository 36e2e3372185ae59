package coupon

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

// Cache holds coupons in memory, so that the database is not read for each request. A change
// that another instance made reaches it by a message, or without the message at its next
// refresh.
type Cache struct {
	repo    Finder
	refresh time.Duration
	log     *slog.Logger

	mu      sync.RWMutex
	entries map[int64]Coupon
	version map[int64]uint64 // incremented by Forget, so that a slow read cannot store what it read before
	flights map[int64]*flight
	unknown unknown
	pages   map[pageKey]page
	changes uint64 // counts the calls of Forget, as version does for one coupon
	misses  readSlots
}

// Finder is the part of the Repository that a Cache reads.
type Finder interface {
	Find(ctx context.Context, ids ...int64) ([]Coupon, error)
	// Newest returns the largest id of all coupons, or 0.
	Newest(ctx context.Context) (int64, error)
	// Announced reads up to limit coupons with an id above after, by id, without drafts.
	Announced(ctx context.Context, after int64, limit int) ([]Coupon, error)
}

// flight is one read of the database that several callers wait for.
type flight struct {
	done   chan struct{}
	coupon Coupon
	err    error
}

const (
	// maxCached bounds the cache. Further coupons are read from the database each time.
	maxCached = 10_000
	// endedTTL is how long after its end a coupon is kept. Asking for it later costs a read in
	// each refresh interval.
	endedTTL = time.Minute
)

// NewCache returns an empty cache. While its Run is running, it reads what it holds again every
// refresh.
func NewCache(repo Finder, refresh time.Duration, log *slog.Logger) *Cache {
	return &Cache{
		repo: repo, refresh: refresh, log: log,
		entries: map[int64]Coupon{}, version: map[int64]uint64{}, flights: map[int64]*flight{},
		unknown: unknown{gaps: map[int64]time.Time{}}, pages: map[pageKey]page{}, misses: make(readSlots, maxReads),
	}
}

// Get returns the coupon from the cache, or reads it if it is not there; ErrNotFound if there is
// no such coupon. Random ids cost the database two reads a refresh at most, however many are
// asked for.
func (c *Cache) Get(ctx context.Context, id int64) (Coupon, error) {
	found, err := c.lookup(id)
	if err != errMiss { //nolint:errorlint // it is returned as it is
		return found, err
	}
	if err := c.misses.enter(ctx); err != nil {
		return Coupon{}, err
	}
	if found, err = c.lookup(id); err != errMiss { //nolint:errorlint // another caller has read meanwhile
		c.misses.leave()
		return found, err
	}
	return c.await(ctx, id, c.misses.leave)
}

// errMiss is the error of a lookup that a read must answer.
var errMiss = errors.New("coupon: not in the cache")

// lookup returns what is known of the coupon without a read.
func (c *Cache) lookup(id int64) (Coupon, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if found, ok := c.entries[id]; ok {
		return found, nil
	}
	if c.unknown.has(id, time.Now().Add(-c.refresh)) {
		return Coupon{}, ErrNotFound
	}
	return Coupon{}, errMiss
}

// Fresh reads the coupon from the database. Concurrent callers share a read, so that many of
// them cost one query after the other and not one query each.
func (c *Cache) Fresh(ctx context.Context, id int64) (Coupon, error) {
	return c.await(ctx, id, func() {})
}

// await returns what a read finds, and calls done when this caller needs no read any more: the
// read may go on after the caller has left.
func (c *Cache) await(ctx context.Context, id int64, done func()) (Coupon, error) {
	c.mu.Lock()
	f, joined := c.flights[id]
	if joined {
		done()
	} else {
		f = &flight{done: make(chan struct{})}
		c.flights[id] = f
		seen := c.version[id]
		// The read outlives its first caller, because others may wait for it too.
		go func() {
			defer done()
			c.read(context.WithoutCancel(ctx), id, seen, f)
		}()
	}
	c.mu.Unlock()
	select {
	case <-f.done:
		return f.coupon, f.err
	case <-ctx.Done():
		return Coupon{}, ctx.Err()
	}
}

// readTimeout bounds a shared read, which has no caller's deadline.
const readTimeout = 2 * time.Second

func (c *Cache) read(ctx context.Context, id int64, seen uint64, f *flight) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	begun := time.Now()
	found, err := c.repo.Find(ctx, id)
	newest := int64(0)
	if err == nil && len(found) == 0 {
		newest, err = c.repo.Newest(ctx)
	}
	switch {
	case err != nil:
		f.err = err
	case len(found) == 0:
		f.err = ErrNotFound
	default:
		f.coupon = found[0]
	}
	c.mu.Lock()
	if errors.Is(f.err, ErrNotFound) && c.version[id] == seen {
		c.unknown.put(id, newest, begun)
	}
	if c.flights[id] == f {
		delete(c.flights, id)
	}
	c.put(id, f.coupon, f.err == nil, seen)
	c.mu.Unlock()
	close(f.done)
}

// put stores what a read found, unless the coupon was forgotten since. The caller holds mu.
func (c *Cache) put(id int64, found Coupon, ok bool, seen uint64) {
	if !ok || c.version[id] != seen {
		return
	}
	if _, known := c.entries[id]; known || len(c.entries) < maxCached {
		c.entries[id] = found
	}
}

// Forget drops the coupon, so that the next Get reads it again. A read in progress is neither
// shared any more nor stored.
func (c *Cache) Forget(id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.entries[id]; known || c.flights[id] != nil {
		c.version[id]++
	}
	delete(c.entries, id)
	delete(c.flights, id)
	c.unknown.forget(id)
	clear(c.pages)
	c.changes++
}

// Known returns the coupons that the cache holds.
func (c *Cache) Known() []Coupon {
	c.mu.RLock()
	defer c.mu.RUnlock()
	all := make([]Coupon, 0, len(c.entries))
	for _, found := range c.entries {
		all = append(all, found)
	}
	return all
}

// Run reads everything that the cache holds again every refresh, until ctx ends. While the
// database is unavailable the last known state stays, and orders fail at their commit.
func (c *Cache) Run(ctx context.Context) {
	tick := time.NewTicker(c.refresh)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := c.reread(ctx); err != nil && ctx.Err() == nil {
			c.log.WarnContext(ctx, "coupon cache not refreshed", "error", err)
		}
	}
}

func (c *Cache) reread(ctx context.Context) error {
	c.mu.RLock()
	ids := make([]int64, 0, len(c.entries))
	seen := make(map[int64]uint64, len(c.entries))
	for id := range c.entries {
		ids = append(ids, id)
		seen[id] = c.version[id]
	}
	c.mu.RUnlock()
	if len(ids) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	found, err := c.repo.Find(ctx, ids...)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	for _, one := range found {
		if now.After(one.EndsAt.Add(endedTTL)) && c.version[one.ID] == seen[one.ID] {
			delete(c.entries, one.ID)
			continue
		}
		c.put(one.ID, one, true, seen[one.ID])
	}
	return nil
}
