package stock

import (
	"slices"
	"sync"
	"time"
)

// soldOutCache remembers which coupons were seen empty in every shard, so that a refusal costs no
// I/O. An entry ends when a restock is announced, and by itself after a moment, in case the
// announcement was lost.
type soldOutCache struct {
	ttl time.Duration
	now func() time.Time

	mu      sync.RWMutex
	entries map[int64]soldOutEntry
}

type soldOutEntry struct {
	epoch   int64
	until   time.Time
	version uint64 // grows when the coupon is removed, so that an older reading cannot add it again
}

func newSoldOutCache(lasts time.Duration) *soldOutCache {
	return &soldOutCache{ttl: lasts, now: time.Now, entries: map[int64]soldOutEntry{}}
}

// version is read before looking at the shards, and passed to add afterwards.
func (f *soldOutCache) version(couponID int64) uint64 {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.entries[couponID].version
}

func (f *soldOutCache) add(couponID, epoch int64, version uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if have := f.entries[couponID]; have.version == version {
		f.entries[couponID] = soldOutEntry{epoch: epoch, until: f.now().Add(f.ttl), version: version}
	}
}

func (f *soldOutCache) clear(couponID int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.entries[couponID] = soldOutEntry{version: f.entries[couponID].version + 1}
}

func (f *soldOutCache) has(couponID, epoch int64) bool {
	f.mu.RLock()
	have := f.entries[couponID]
	f.mu.RUnlock()
	return have.epoch == epoch && f.now().Before(have.until)
}

// list returns the coupons in the cache, whatever their epoch.
func (f *soldOutCache) list() (ids []int64) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	now := f.now()
	for id, have := range f.entries {
		if now.Before(have.until) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// SoldOut reports whether, as far as is known without I/O, every shard was seen empty a moment ago and no restock was
// announced since.
func (s *Stock) SoldOut(couponID, epoch int64) bool { return s.soldOut.has(couponID, epoch) }
