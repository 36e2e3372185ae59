package coupon

import (
	"context"
	"maps"
	"time"
)

// pageKey identifies a page of the list of coupons.
type pageKey struct {
	after int64
	limit int
}

// page is a page of the list at the time of its read. Readers share its coupons, and must not change them.
type page struct {
	coupons []Coupon
	at      time.Time
}

const (
	// maxPages is the limit on the pages in a Cache.
	maxPages = 256
	// staleFor is a number of refreshes. For this time List returns an old page if the next read cannot start.
	staleFor = 10
)

// List returns up to limit coupons with an id above after, without drafts, ordered by id. The list may be as old as one
// refresh, and older if many other pages are being read.
func (c *Cache) List(ctx context.Context, after int64, limit int) ([]Coupon, error) {
	key := pageKey{after, limit}
	p, fresh, _ := c.page(key)
	if fresh {
		return p.coupons, nil
	}
	if !c.misses.tryEnter() {
		// A flood of other pages must not delay the readers of this page.
		if time.Since(p.at) < staleFor*c.refresh {
			return p.coupons, nil
		}
		if err := c.misses.enter(ctx); err != nil {
			return nil, err
		}
	}
	defer c.misses.leave()
	p, fresh, changes := c.page(key)
	if fresh { // another caller has read the page meanwhile
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

// page returns the page of the last read. fresh reports whether the read is younger than a refresh. changes is the
// present number of changes.
func (c *Cache) page(key pageKey) (p page, fresh bool, changes uint64) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	p = c.pages[key]
	return p, time.Since(p.at) < c.refresh, c.changes
}

// keep stores a page, unless a coupon has changed since the read of the page started. If there are too many pages, keep
// drops the pages that are too old for List. If there are still too many, keep does not store the new page.
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

// readSlots bounds the reads of coupons and pages that are not in a Cache. So these reads leave enough connections to
// the database for orders and payments.
type readSlots chan struct{}

// maxReads is the limit on reads in progress.
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
