package store

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"

	"example.com/seckill/internal/order"
)

// heldRows remembers the coupons whose row another session holds, such as an operator's. Each transaction with an order
// of such a coupon waits for the row. So these orders have transactions without others, and turns of their own:
// the orders of all other coupons do not wait.
type heldRows struct {
	turns chan struct{} // a token for each transaction in progress with a held row

	mu    sync.Mutex
	until map[int64]time.Time // by coupon; then it is tried with others again
}

// heldTurns is how many transactions wait for held rows at most. Each has a connection.
const heldTurns = 4

func newHeldRows() *heldRows {
	return &heldRows{turns: make(chan struct{}, heldTurns), until: map[int64]time.Time{}}
}

// has reports whether the row of a coupon was held a moment ago.
func (h *heldRows) has(couponID int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	until, held := h.until[couponID]
	if held && time.Now().After(until) {
		delete(h.until, couponID)
		return false
	}
	return held
}

// note takes the outcome of a transaction that waited for the row of one coupon only. The row is held if the
// transaction waited for as long as it may, and counts as held for some such times, so that the next order that fails
// extends that.
func (h *heldRows) note(couponID int64, err error, budget time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case isLockWait(err):
		h.until[couponID] = time.Now().Add(3 * budget)
	case err == nil:
		delete(h.until, couponID)
	}
}

// lockWaitTimeout is the number of an error of MySQL and MariaDB.
const lockWaitTimeout = 1205

// isLockWait reports whether a transaction waited for a row until its time was over.
func isLockWait(err error) bool {
	said, ours := errors.AsType[*mysql.MySQLError](err)
	return ours && said.Number == lockWaitTimeout || errors.Is(err, context.DeadlineExceeded)
}

// onlyCoupon returns the coupon of all attempts, if it is one.
func onlyCoupon(all []*order.Attempt) (id int64, one bool) {
	for _, a := range all {
		if one && a.Order.CouponID != id {
			return 0, false
		}
		id, one = a.Order.CouponID, true
	}
	return id, one
}

// separate returns the attempts that have a transaction together, and its turns. Among orders of several coupons those
// of held rows are refused with order.ErrFallback.
func (c *Committer) separate(all []*order.Attempt) ([]*order.Attempt, chan struct{}) {
	if id, one := onlyCoupon(all); one {
		if c.held.has(id) {
			return all, c.held.turns
		}
		return all, c.turns
	}
	for _, a := range all {
		if c.held.has(a.Order.CouponID) {
			a.Err = order.ErrFallback
		}
	}
	return unrefused(all), c.turns
}

// Held implements order.Committer.
func (c *Committer) Held(couponID int64) bool { return c.held.has(couponID) }
