package stock

import (
	"errors"
	"sync"
	"time"

	"seckill/internal/coupon"
	"seckill/internal/order"
)

// maxLimited is how many buyers are remembered at most, which take some 5 MB then.
const maxLimited = 1 << 16

// limitCache remembers which buyers have as many units as they may, so that refusing a buyer again costs no
// I/O. An entry ends when it is announced that a unit of the buyer came back, and by itself after a moment, in
// case the announcement was lost.
type limitCache struct {
	ttl  time.Duration
	now  func() time.Time
	born time.Time // what until is counted from: so the map holds no pointers

	mu      sync.RWMutex
	entries map[buyer]limitEntry
	version uint64 // grows when a buyer is removed, so that an older answer cannot add one again
}

type buyer struct{ couponID, userID int64 }

type limitEntry struct {
	epoch int64
	limit int           // by which the buyer was refused: with a larger one the answer may be another
	until time.Duration // since born
}

func newLimitCache(lasts time.Duration) *limitCache {
	return &limitCache{ttl: lasts, now: time.Now, born: time.Now(), entries: map[buyer]limitEntry{}}
}

// currentVersion is read before the shard is asked, and passed to add afterwards.
func (f *limitCache) currentVersion() uint64 {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.version
}

// add remembers the buyer of a request if err is that they have as many as they may. Where there is no room it
// forgets all others: each of them costs one answer of a shard more.
func (f *limitCache) add(c order.ReserveRequest, err error, version uint64) {
	if !errors.Is(err, order.ErrLimitReached) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.version != version {
		return
	}
	if len(f.entries) >= maxLimited {
		clear(f.entries)
	}
	f.entries[buyer{c.CouponID, c.UserID}] = limitEntry{c.Epoch, c.Limit, f.now().Sub(f.born) + f.ttl}
}

func (f *limitCache) remove(b buyer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.version++
	delete(f.entries, b)
}

func (f *limitCache) has(b buyer, epoch int64, limit int) bool {
	f.mu.RLock()
	have, ok := f.entries[b]
	f.mu.RUnlock()
	return ok && have.epoch == epoch && limit <= have.limit && f.now().Sub(f.born) < have.until
}

// LimitReached reports whether, as far as is known without I/O, the user had as many units a moment ago as the sale
// allows, and none of them came back since.
func (s *Stock) LimitReached(sale coupon.Coupon, userID int64) bool {
	return s.limited.has(buyer{sale.ID, userID}, sale.Epoch, sale.LimitPerUser)
}
