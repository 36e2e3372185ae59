package faults

import (
	"context"
	"errors"
	"maps"
	"sync"

	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/order"
)

// witness watches the order of the calls that concern a user's lock. The data stay right in any order, so the
// data cannot show a mistake:
//
//	acquire ─▶ [ fence ─▶ … ─▶ the outcome is known ] ─▶ release
//
// It observes this process, and not the server. Fences of different users may be equal. If a case is ambiguous,
// no rule counts as broken.
type witness struct {
	mu     sync.Mutex
	fences map[string]uint64 // by token; has the leases that were granted and not released
	held   map[uint64]int    // number of leases with a fence
	open   map[uint64]int    // number of orders with a fence whose outcome is not known
	broken map[string]int
}

// The rules, with the text of the report for a broken rule.
const (
	earlyRelease = "a lock was given back before the outcome of its order was known"
	lateWrite    = "an order was written under a lock that was given back"
	lockInside   = "a lock was asked for inside of a transaction"
)

func (w *witness) breaks(rule string) {
	if w.broken == nil {
		w.broken = map[string]int{}
	}
	w.broken[rule]++
}

// granted records a lease.
func (w *witness) granted(key, token string, fence uint64) {
	token += " " + key // the keys of a batch share their token
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fences == nil {
		w.fences, w.held, w.open = map[string]uint64{}, map[uint64]int{}, map[uint64]int{}
	}
	if _, again := w.fences[token]; !again { // a retry after a lost reply
		w.held[fence]++
	}
	w.fences[token] = fence
}

// releases records that a lease is about to be released. It ignores a lease whose grant it has not recorded.
func (w *witness) releases(key, token string) {
	token += " " + key
	w.mu.Lock()
	defer w.mu.Unlock()
	fence, ours := w.fences[token]
	if !ours {
		return
	}
	if w.open[fence] > 0 && w.held[fence] == 1 {
		w.breaks(earlyRelease)
	}
	delete(w.fences, token)
	less(w.held, fence)
}

// begins records that an order is being written under the fence.
func (w *witness) begins(fence uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open == nil { // the lock's backend is not watched
		return
	}
	if w.held[fence] == 0 {
		w.breaks(lateWrite)
	}
	w.open[fence]++
}

// ends records that the outcome is known, unless err is order.ErrCommitUnknown.
func (w *witness) ends(fence uint64, err error) {
	if errors.Is(err, order.ErrCommitUnknown) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open == nil {
		return
	}
	less(w.open, fence)
}

func less(of map[uint64]int, fence uint64) {
	if of[fence]--; of[fence] <= 0 {
		delete(of, fence)
	}
}

// inside marks the context of a transaction.
type inside struct{}

// asks records a call that acquires a lock.
func (w *witness) asks(ctx context.Context) {
	if ctx.Value(inside{}) == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.breaks(lockInside)
}

func (w *witness) said() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.broken)
}

// grant records the backend's answer.
func (p *Points) grant(key, token string, g lock.Grant, err error) (lock.Grant, error) {
	if err == nil {
		p.witness.granted(key, token, g.Fence)
	}
	return g, err
}
