package coupon

import (
	"context"
	"maps"
	"time"
)

// pageKey names a page of the list of coupons.
type pageKey struct {
	after int64
	limit int
}

// page is such a page as it was read. Its coupons are shared and not altered.
type page struct {
	coupons []Coupon
	at      time.Time
}

const (
	// maxPages bounds the pages that are kept.
	maxPages = 256
	// staleFor is for how many refreshes a page is served although its next read cannot begin.
	staleFor = 10
)

// List returns up to limit coupons with an id above after, by id, without drafts, as of the
// last refresh.
func (c *Cache) List(ctx context.Context, after int64, limit int) ([]Coupon, error) {
	key := pageKey{after, limit}
	p, fresh, _ := c.page(key)
	if fresh {
		return p.coupons, nil
	}
	if !c.misses.tryEnter() {
		// A flood of other pages must not keep this one's readers waiting.
		if time.Since(p.at) < staleFor*c.refresh {
			return p.coupons, nil
		}
		if err := c.misses.enter(ctx); err != nil {
			return nil, err
		}
	}
	defer c.misses.leave()
	p, fresh, changes := c.page(key)
	if fresh { // another caller has read meanwhile
		return p.coupons, nil
	}
	p.at = time.Now()
	var err error
	if p.coupons, err = c.repo.Announced(ctx, after, limit); err != nil {
		return nil, err
	}
	c.keep(key, p, changes)
	return p.coupons, nil
}

// page returns the page as it was read last, whether that is no longer ago than a refresh, and
// how many changes there were by now.
func (c *Cache) page(key pageKey) (p page, fresh bool, changes uint64) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	p = c.pages[key]
	return p, time.Since(p.at) < c.refresh, c.changes
}

// keep stores a page, unless a coupon has changed since its read began. Of too many pages those
// stay that were asked for first.
func (c *Cache) keep(key pageKey, p page, changes uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changes != changes {
		return
	}
	if _, known := c.pages[key]; !known && len(c.pages) >= maxPages {
		maps.DeleteFunc(c.pages, func(_ pageKey, old page) bool { return time.Since(old.at) >= staleFor*c.refresh })
		if len(c.pages) >= maxPages {
			return
		}
	}
	c.pages[key] = p
}

// readSlots bounds the reads of what is not in a Cache, so that a client that asks for it leaves the
// database's connections to orders and payments.
type readSlots chan struct{}

// maxReads is how many such reads are under way at most.
const maxReads = 4

// enter blocks until a slot is free. The caller must call leave.
func (r readSlots) enter(ctx context.Context) error {
	select {
	case r <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// tryEnter takes a slot and reports whether one was free.
func (r readSlots) tryEnter() bool {
	select {
	case r <- struct{}{}:
		return true
	default:
		return false
	}
}

func (r readSlots) leave() { <-r }
