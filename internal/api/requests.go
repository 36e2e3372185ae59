package api

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// requestCounts count the purchase requests that this instance has answered with an outcome, by coupon. Only coupons
// that exist are counted, so that made-up ids take no memory.
type requestCounts struct {
	now func() time.Time
	by  sync.Map // coupon id ─▶ *requestCount
}

// requestCount counts the requests of one coupon. Times are Unix times in ms, and 0 before there is one.
type requestCount struct {
	answered atomic.Int64
	tooLate  atomic.Int64 // of them answered sold_out
	until    atomic.Int64 // answered up to the first sold_out
	gone     atomic.Int64 // the time of that answer
	lastUnit atomic.Int64 // the time at which the last order before that answer was made
	lastMade atomic.Int64 // the time at which the last order was made
	soldOut  atomic.Pointer[soldOutFigures]
}

// soldOutFigures are the figures of a sale at the moment at which every unit was an order. They do not change.
type soldOutFigures struct {
	After     int64 `json:"sold_out_after_ms"` // from the opening to the last unit that this instance gave
	Requests  int64 `json:"requests"`          // that this instance had answered by then
	SoldAgain int64 `json:"sold_again"`
}

// answer counts one purchase request that ended with o and err.
func (t *requestCounts) answer(couponID int64, o order.Order, err error) {
	if err != nil && repeated(err) {
		return
	}
	known, is := t.by.Load(couponID)
	if !is {
		if errors.Is(err, coupon.ErrNotFound) {
			return
		}
		known, _ = t.by.LoadOrStore(couponID, new(requestCount))
	}
	n := known.(*requestCount) //nolint:forcetypeassert // nothing else is stored
	all := n.answered.Add(1)
	switch {
	case err == nil && (o.Status == order.Pending || o.Status == order.Queued):
		n.made(o.CreatedAt)
	case errors.Is(err, coupon.ErrSoldOut):
		n.tooLate.Add(1)
		if n.until.Load() == 0 {
			n.gone.CompareAndSwap(0, t.now().UnixMilli())
			n.until.CompareAndSwap(0, all)
		}
	}
}

// repeatable are the errors after which a client sends the request again. The request is counted when its outcome is
// known.
var repeatable = []error{
	order.ErrOverloaded, order.ErrUnavailable, order.ErrBusy, order.ErrStaleEpoch, coupon.ErrNotLoaded,
	context.DeadlineExceeded, context.Canceled,
}

func repeated(err error) bool {
	if err == coupon.ErrSoldOut { //nolint:errorlint // the most frequent refusal comes as it is
		return false
	}
	return slices.ContainsFunc(repeatable, func(one error) bool { return errors.Is(err, one) })
}

// made notes the time of an order. An order that was made after the first answer sold_out has a unit that came back. An
// order that was made before may be answered later.
func (n *requestCount) made(at time.Time) {
	ms, gone := at.UnixMilli(), n.gone.Load()
	raise(&n.lastMade, ms)
	if gone == 0 || ms <= gone || n.lastUnit.Load() == 0 {
		raise(&n.lastUnit, ms)
	}
}

// raise makes v at least n.
func raise(v *atomic.Int64, n int64) {
	for {
		if old := v.Load(); n <= old || v.CompareAndSwap(old, n) {
			return
		}
	}
}

// of returns the number of answered requests of a coupon, and of those that were answered sold_out.
func (t *requestCounts) of(couponID int64) (answered, tooLate int64) {
	known, is := t.by.Load(couponID)
	if !is {
		return 0, 0
	}
	n := known.(*requestCount) //nolint:forcetypeassert // nothing else is stored
	return n.answered.Load(), n.tooLate.Load()
}

// soldOut returns the figures of a coupon whose every unit is an order. The first call freezes them. It returns nil if
// this instance made no order of the coupon. begins is the first moment of the sale, and made counts all orders, also
// those that have ended.
func (t *requestCounts) soldOut(couponID int64, begins time.Time, made, soldAgain int64) *soldOutFigures {
	known, is := t.by.Load(couponID)
	if !is {
		return nil
	}
	n := known.(*requestCount) //nolint:forcetypeassert // nothing else is stored
	if frozen := n.soldOut.Load(); frozen != nil {
		return frozen
	}
	last, requests := n.lastUnit.Load(), n.until.Load()
	if soldAgain > 0 || requests == 0 { // the last unit came back after the first answer sold_out, or there was none
		last, requests = n.lastMade.Load(), n.answered.Load()
	}
	if last == 0 {
		return nil
	}
	// An order may be committed that is not answered: it is a request as well.
	n.soldOut.CompareAndSwap(nil, &soldOutFigures{max(0, last-begins.UnixMilli()), max(requests, made), soldAgain})
	return n.soldOut.Load()
}
