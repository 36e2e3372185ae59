package app

import (
	"context"
	"errors"
	"sync"
	"time"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/observe/metrics"
	"example.com/seckill/internal/store"
)

// pacedSales counts the live orders of coupons for the metrics. However often a scraper asks, it counts at most once in
// salesEvery, and at most for a twentieth of the time.
type pacedSales struct {
	count func(ctx context.Context, ids ...int64) (map[int64]store.Sales, error)

	mu        sync.Mutex
	counted   map[int64]store.Sales
	err       error // of the last count
	notBefore time.Time
}

const salesEvery, salesShare = time.Second, 20

var errNotCounted = errors.New("live orders not counted")

// read returns the latest numbers of the coupons, or an error for a coupon that was not counted.
func (p *pacedSales) read(ctx context.Context, all []coupon.Coupon) ([]metrics.Sales, []error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if begun := time.Now(); len(all) > 0 && !begun.Before(p.notBefore) {
		ids := make([]int64, len(all))
		for i, c := range all {
			ids[i] = c.ID
		}
		p.counted, p.err = p.count(ctx, ids...)
		p.notBefore = begun.Add(max(salesEvery, salesShare*time.Since(begun)))
	}
	sales, errs := make([]metrics.Sales, len(all)), make([]error, len(all))
	for i, c := range all {
		n, known := p.counted[c.ID]
		switch {
		case p.err != nil:
			errs[i] = p.err
		case !known:
			errs[i] = errNotCounted
		}
		sales[i] = metrics.Sales{Units: n.Units, Orders: n.Orders, Oversold: n.Oversold()}
	}
	return sales, errs
}
