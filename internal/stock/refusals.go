package stock

import (
	"errors"
	"slices"
	"sync"
	"time"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// soldOutCache has the coupons whose shards were all empty when this instance read them. With it a rejection costs no
// I/O. An entry ends when an instance announces a restock. It also ends by itself after ttl, because an announcement
// may be lost.
type soldOutCache struct {
	ttl time.Duration
	now func() time.Time

	mu      sync.RWMutex
	entries map[int64]soldOutEntry
}

type soldOutEntry struct {
	epoch   int64
	until   time.Time
	version uint64 // grows when clear removes the coupon, so that an older reading cannot add it again
}

func newSoldOutCache(lasts time.Duration) *soldOutCache {
	return &soldOutCache{ttl: lasts, now: time.Now, entries: map[int64]soldOutEntry{}}
}

// version returns the version of a coupon. A caller takes it before it reads the shards, and passes it to add
// afterwards.
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

// list returns the coupons in the cache, of any epoch, ordered by id.
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

// SoldOut reports whether this instance found every shard empty a moment ago, and has received no announcement of a
// restock since. It does no I/O.
func (s *Stock) SoldOut(couponID, epoch int64) bool { return s.soldOut.has(couponID, epoch) }

// maxLimited is the limit on the buyers in a limitCache. A full cache needs about 5 MB.
const maxLimited = 1 << 16

// maxLimitedFor bounds the age of an answer of Redis by which an instance rejects a buyer from memory. The instance
// that cancels an order answers the buyer before other instances receive the announcement. It does not wait for an
// acknowledgement, because a paused instance sends none. So another instance may reject the buyer for this time. Taps
// within this time cost one answer of Redis together. A buyer who has cancelled needs about this time to tap again.
const maxLimitedFor = 100 * time.Millisecond

// limitCache has the buyers who have reached the purchase limit. With it another rejection of a buyer costs no I/O. An
// entry ends when an instance announces that a unit of the buyer came back. It also ends by itself when the answer of
// the entry is as old as ttl.
type limitCache struct {
	ttl  time.Duration
	now  func() time.Time
	born time.Time // until counts from here, so the map holds no pointers

	mu      sync.RWMutex
	entries map[buyer]limitEntry
	version uint64 // grows when remove removes a buyer, so that an older answer cannot add the buyer again
}

type buyer struct{ couponID, userID int64 }

type limitEntry struct {
	epoch int64
	limit int           // the limit in the rejected request: with a larger limit the answer may differ
	until time.Duration // since born
}

func newLimitCache(lasts time.Duration) *limitCache {
	return &limitCache{ttl: min(lasts, maxLimitedFor), now: time.Now, born: time.Now(), entries: map[buyer]limitEntry{}}
}

// question is the moment before a call to a shard. The age of the answer counts from this moment.
type question struct {
	version uint64
	at      time.Duration // since born
}

// question returns the present moment. A caller takes it before it calls the shard, and passes it to add afterwards.
func (f *limitCache) question() question {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return question{f.version, f.now().Sub(f.born)}
}

// add adds the buyer of a request if err is ErrLimitReached. If the cache is full, add removes all other buyers first.
// Each of these buyers then costs one more answer of a shard.
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

// LimitReached reports whether Redis rejected the user for the limit of the sale a moment ago, and this instance has
// received no announcement of a returned unit since. It does no I/O.
func (s *Stock) LimitReached(sale coupon.Coupon, userID int64) bool {
	return s.limited.has(buyer{sale.ID, userID}, sale.Epoch, sale.LimitPerUser)
}
