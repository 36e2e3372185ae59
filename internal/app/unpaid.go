package app

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"example.com/seckill/internal/api"
)

// unpaidOrders implements api.UnpaidOrders: it counts the unpaid orders of the coupons that it was asked
// about since it last did, so that no request waits for that.
type unpaidOrders struct {
	count func(ctx context.Context, couponID int64) (n int64, until time.Time, err error)
	log   *slog.Logger
	news  sync.Map // coupon id ─▶ *unpaidNews
	first chan struct{}
}

// unpaidNews is what was counted last.
type unpaidNews struct {
	told  atomic.Pointer[api.SoldOut]
	asked atomic.Bool // since it was counted
	at    time.Time   // when it was counted, of the counter alone
}

const (
	// unpaidEvery is how often they are counted, and at least unpaidShare times as long as the counting
	// took lies between: a sale with very many of them must not keep the database busy.
	unpaidEvery, unpaidShare = time.Second, 20
	// unpaidTimeout bounds the counting of one coupon's, and unpaidKept how old a count may become.
	unpaidTimeout, unpaidKept = 2 * time.Second, 15 * time.Second
)

func newUnpaidOrders(
	count func(ctx context.Context, couponID int64) (int64, time.Time, error), log *slog.Logger,
) *unpaidOrders {
	return &unpaidOrders{count: count, log: log, first: make(chan struct{}, 1)}
}

// Unpaid returns what was counted last. Only coupons that exist are asked about.
func (u *unpaidOrders) Unpaid(couponID int64) *api.SoldOut {
	known, ok := u.news.Load(couponID)
	if !ok {
		known, _ = u.news.LoadOrStore(couponID, new(unpaidNews))
	}
	news := known.(*unpaidNews) //nolint:forcetypeassert // nothing else is stored
	if !news.asked.Load() {
		news.asked.Store(true)
	}
	if !ok { // after it is noted that they are asked about
		select {
		case u.first <- struct{}{}:
		default:
		}
	}
	return news.told.Load()
}

// run counts until ctx ends.
func (u *unpaidOrders) run(ctx context.Context) {
	for notBefore := (time.Time{}); ; {
		select {
		case <-ctx.Done():
			return
		case <-u.first:
		case <-time.After(unpaidEvery):
		}
		begun := time.Now()
		if begun.Before(notBefore) {
			continue
		}
		u.refresh(ctx, begun)
		notBefore = begun.Add(unpaidShare * time.Since(begun))
	}
}

// refresh counts those that were asked about, and forgets what has become too old.
func (u *unpaidOrders) refresh(ctx context.Context, now time.Time) {
	u.news.Range(func(id, known any) bool {
		news := known.(*unpaidNews) //nolint:forcetypeassert // nothing else is stored
		if !news.asked.Swap(false) {
			if now.Sub(news.at) > unpaidKept {
				u.news.Delete(id)
			}
			return true
		}
		ctx, cancel := context.WithTimeout(ctx, unpaidTimeout)
		defer cancel()
		n, until, err := u.count(ctx, id.(int64)) //nolint:forcetypeassert // nothing else is stored
		switch {
		case err == nil:
			news.at = now
			news.told.Store(api.NewSoldOut(n, until))
		case now.Sub(news.at) > unpaidKept:
			news.told.Store(nil)
		default:
			u.log.DebugContext(ctx, "unpaid orders not counted", "coupon", id, "error", err)
		}
		return true
	})
}
