package coupon

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
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
	changed counters // of the calls of Invalidate, so that a slow read cannot store an older state
	unknown unknown
	pages   map[pageKey]page
	changes uint64 // all calls of Invalidate

	reads  singleflight.Group // by coupon
	turns  singleflight.Group // by coupon, the callers that wait for a slot of misses
	misses readSlots
}

// Finder is the part of the Repository that a Cache reads.
type Finder interface {
	Find(ctx context.Context, ids ...int64) ([]Coupon, error)
	// Newest returns the largest id of all coupons, or 0.
	Newest(ctx context.Context) (int64, error)
	// Announced reads up to limit coupons with an id above after, by id, without drafts.
	Announced(ctx context.Context, after int64, limit int) ([]Coupon, error)
}

const (
	// maxCached bounds the cache. Further coupons are read from the database each time.
	maxCached = 10_000
	// endedTTL is how long after its end a coupon is kept. Asking for it later costs a read in
	// each refresh interval.
	endedTTL = time.Minute
)

// counters count the changes of coupons in bounded memory. A change of a coupon that shares its
// counter costs one read more.
type counters [256]uint64

func (c *counters) of(id int64) *uint64 {
	return &c[uint64(id)%uint64(len(c))] //nolint:gosec // a negative id also has a counter
}

// NewCache returns an empty cache. While its Run is running, it reads its coupons again every
// refresh.
func NewCache(repo Finder, refresh time.Duration, log *slog.Logger) *Cache {
	return &Cache{
		repo: repo, refresh: refresh, log: log,
		entries: map[int64]Coupon{}, unknown: unknown{gaps: map[int64]time.Time{}}, pages: map[pageKey]page{},
		misses: make(readSlots, maxReads),
	}
}

// Get returns the coupon from the cache, or reads it if it is not there; ErrNotFound if there is
// no such coupon. Random ids cost the database two reads a refresh at most, however many are
// asked for.
func (c *Cache) Get(ctx context.Context, id int64) (Coupon, error) {
	found, err := c.lookup(id)
	for err == errMiss { //nolint:errorlint // it is returned as it is
		found, err = await(ctx, &c.turns, id, func() (Coupon, error) {
			if c.misses.enter(ctx) != nil {
				return Coupon{}, errMiss // this caller has left, and the others try again
			}
			defer c.misses.leave()
			if found, err := c.lookup(id); err != errMiss { //nolint:errorlint // a read has ended meanwhile
				return found, err
			}
			return c.Fetch(context.WithoutCancel(ctx), id)
		})
	}
	return found, err
}

// errMiss is the error of a lookup that a read must answer.
var errMiss = errors.New("coupon: not in the cache")

// lookup answers from memory, or with errMiss.
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

// Fetch reads the coupon from the database. Concurrent callers share a read, so that many of
// them cost one query after the other and not one query each.
func (c *Cache) Fetch(ctx context.Context, id int64) (Coupon, error) {
	return await(ctx, &c.reads, id, func() (Coupon, error) { return c.read(context.WithoutCancel(ctx), id) })
}

// await returns the result of a call that all callers for the coupon share. The call outlives the
// caller that began it, because others may wait for it.
func await(ctx context.Context, calls *singleflight.Group, id int64, call func() (Coupon, error)) (Coupon, error) {
	done := calls.DoChan(strconv.FormatInt(id, 10), func() (any, error) { return call() })
	select {
	case r := <-done:
		return r.Val.(Coupon), r.Err
	case <-ctx.Done():
		return Coupon{}, ctx.Err()
	}
}

// readTimeout bounds a shared read, which has no caller's deadline.
const readTimeout = 2 * time.Second

func (c *Cache) read(ctx context.Context, id int64) (Coupon, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	begun := time.Now()
	c.mu.RLock()
	seen := *c.changed.of(id)
	c.mu.RUnlock()
	found, err := c.repo.Find(ctx, id)
	newest := int64(0)
	if err == nil && len(found) == 0 {
		newest, err = c.repo.Newest(ctx)
	}
	if err != nil {
		return Coupon{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(found) == 0 {
		if *c.changed.of(id) == seen {
			c.unknown.put(id, newest, begun)
		}
		return Coupon{}, ErrNotFound
	}
	c.put(found[0], seen)
	return found[0], nil
}

// put stores a coupon as it was read, unless it was forgotten since. The caller holds mu.
func (c *Cache) put(found Coupon, seen uint64) {
	if *c.changed.of(found.ID) != seen {
		return
	}
	if _, known := c.entries[found.ID]; known || len(c.entries) < maxCached {
		c.entries[found.ID] = found
	}
}

// Invalidate drops the coupon, so that the next Get reads it again. A read in progress is neither
// shared any more nor stored.
func (c *Cache) Invalidate(id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*c.changed.of(id)++
	delete(c.entries, id)
	for _, calls := range []*singleflight.Group{&c.reads, &c.turns} {
		calls.Forget(strconv.FormatInt(id, 10))
	}
	c.unknown.forget(id)
	clear(c.pages)
	c.changes++
}

// Cached returns the coupons that the cache holds.
func (c *Cache) Cached() []Coupon {
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
	for id := range c.entries {
		ids = append(ids, id)
	}
	seen := c.changed
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
		before := *seen.of(one.ID)
		if now.After(one.EndsAt.Add(endedTTL)) && *c.changed.of(one.ID) == before {
			delete(c.entries, one.ID)
			continue
		}
		c.put(one, before)
	}
	return nil
}
