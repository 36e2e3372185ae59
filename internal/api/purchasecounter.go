package api

import (
	"errors"
	"sync"
	"sync/atomic"

	"example.com/seckill/internal/coupon"
)

// purchaseCounter counts the purchases that this instance has answered, by coupon. Only coupons that exist are
// counted, so that made-up ids take no memory.
type purchaseCounter struct{ by sync.Map } // coupon id ─▶ *atomic.Int64

// answered counts one purchase that ended with err.
func (p *purchaseCounter) answered(couponID int64, err error) {
	n, known := p.by.Load(couponID)
	if !known {
		if errors.Is(err, coupon.ErrNotFound) {
			return
		}
		n, _ = p.by.LoadOrStore(couponID, new(atomic.Int64))
	}
	n.(*atomic.Int64).Add(1) //nolint:forcetypeassert // nothing else is stored
}

func (p *purchaseCounter) of(couponID int64) int64 {
	if n, known := p.by.Load(couponID); known {
		return n.(*atomic.Int64).Load() //nolint:forcetypeassert // nothing else is stored
	}
	return 0
}
