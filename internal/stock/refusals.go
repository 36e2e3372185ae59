package stock

import (
	"errors"
	"slices"
	"sync"
	"time"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
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

// maxLimited is how many buyers are remembered at most, which take some 5 MB then.
const maxLimited = 1 << 16

// maxLimitedFor bounds how old the answer of Redis may be by which a buyer is refused from memory. The instance
// that cancels an order answers its buyer before others have heard of it, and no acknowledgement would reach it
// from an instance that stands still. So the buyer may be refused elsewhere for this long. Taps that follow each
// other faster cost one answer of Redis, and a buyer who has cancelled needs about this long to tap again.
const maxLimitedFor = 100 * time.Millisecond

// limitCache remembers which buyers have reached their limit of units, so that refusing a buyer again costs no
// I/O. An entry ends when it is announced that a unit of the buyer came back, and by itself when the answer
// that it keeps is as old as it may be.
type limitCache struct {
	ttl  time.Duration
	now  func() time.Time
	born time.Time // until counts from here, so the map holds no pointers

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
	return &limitCache{ttl: min(lasts, maxLimitedFor), now: time.Now, born: time.Now(), entries: map[buyer]limitEntry{}}
}

// question is the moment before a call to a shard. The answer is as old as that.
type question struct {
	version uint64
	at      time.Duration // since born
}

// question returns this moment. A caller takes it before it calls the shard, and passes it to add afterwards.
func (f *limitCache) question() question {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return question{f.version, f.now().Sub(f.born)}
}

// add remembers the buyer of a request if err is ErrLimitReached. Where there is no room it
// forgets all others: each of them costs one answer of a shard more.
func (f *limitCache) add(c order.ReserveRequest, err error, q question) {
	if !errors.Is(err, order.ErrLimitReached) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.version != q.version {
		return
	}
	if len(f.entries) >= maxLimited {
		clear(f.entries)
	}
	f.entries[buyer{c.CouponID, c.UserID}] = limitEntry{c.Epoch, c.Limit, q.at + f.ttl}
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

// LimitReached reports whether, as far as is known without I/O, the user had reached the limit of the sale a moment
// ago, and none of them came back since.
func (s *Stock) LimitReached(sale coupon.Coupon, userID int64) bool {
	return s.limited.has(buyer{sale.ID, userID}, sale.Epoch, sale.LimitPerUser)
}
