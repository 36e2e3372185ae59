package stock

import (
	"slices"
	"sync"
	"time"
)

// flags remember which coupons were seen empty in every shard, so that a refusal
// costs no I/O. A flag falls when a unit is heard to have come back, and by itself
// after a moment, in case that was not heard.
type flags struct {
	lasts time.Duration
	now   func() time.Time

	mu    sync.RWMutex
	known map[int64]flag
}

type flag struct {
	epoch   int64
	until   time.Time
	version uint64 // grows when the flag falls, so that an older look cannot raise it again
}

func newFlags(lasts time.Duration) *flags {
	return &flags{lasts: lasts, now: time.Now, known: map[int64]flag{}}
}

// version is asked before looking at the shards and handed to raise after.
func (f *flags) version(couponID int64) uint64 {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.known[couponID].version
}

func (f *flags) raise(couponID, epoch int64, version uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if have := f.known[couponID]; have.version == version {
		f.known[couponID] = flag{epoch: epoch, until: f.now().Add(f.lasts), version: version}
	}
}

func (f *flags) lower(couponID int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.known[couponID] = flag{version: f.known[couponID].version + 1}
}

func (f *flags) up(couponID, epoch int64) bool {
	f.mu.RLock()
	have := f.known[couponID]
	f.mu.RUnlock()
	return have.epoch == epoch && f.now().Before(have.until)
}

// raised lists the coupons whose flag is up, whatever their epoch.
func (f *flags) raised() (ids []int64) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	now := f.now()
	for id, have := range f.known {
		if now.Before(have.until) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// SoldOut says, without I/O, whether every shard was seen empty a moment ago and
// no unit was heard to have come back since.
func (s *Stock) SoldOut(couponID, epoch int64) bool { return s.flags.up(couponID, epoch) }
