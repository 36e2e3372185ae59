package stock

import (
	"slices"
	"sync"
	"time"
)

// soldOutCache remember which coupons were seen empty in every shard, so that a refusal
// costs no I/O. A flag falls when a unit is heard to have come back, and by itself
// after a moment, in case that was not heard.
type soldOutCache struct {
	ttl time.Duration
	now func() time.Time

	mu      sync.RWMutex
	entries map[int64]soldOutEntry
}

type soldOutEntry struct {
	epoch   int64
	until   time.Time
	version uint64 // grows when the flag falls, so that an older look cannot raise it again
}

func newSoldOutCache(lasts time.Duration) *soldOutCache {
	return &soldOutCache{ttl: lasts, now: time.Now, entries: map[int64]soldOutEntry{}}
}

// version is asked before looking at the shards and handed to raise after.
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

// list lists the coupons whose flag is up, whatever their epoch.
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

// SoldOut says, without I/O, whether every shard was seen empty a moment ago and
// no unit was heard to have come back since.
func (s *Stock) SoldOut(couponID, epoch int64) bool { return s.soldOut.has(couponID, epoch) }
