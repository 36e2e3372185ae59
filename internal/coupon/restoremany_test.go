package coupon_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
)

// oneList lists the coupons once, and then blocks until the end.
type oneList struct {
	coupon.Loader
	listed sync.Once
	beats  atomic.Int64
}

func (l *oneList) Heartbeat(ctx context.Context, known coupon.Owner) (coupon.Owner, error) {
	l.beats.Add(1)
	return l.Loader.Heartbeat(ctx, known)
}

func (l *oneList) Loaded(ctx context.Context, now time.Time) (all []coupon.Coupon, err error) {
	first := false
	l.listed.Do(func() { first = true })
	if !first {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return l.Loader.Loaded(ctx, now)
}

// noted notes in which order coupons begin to be filled.
type noted struct {
	coupon.Shards
	mu     sync.Mutex
	filled []int64
	done   int
	wanted int
	all    chan struct{}
}

func (n *noted) Fill(ctx context.Context, l coupon.Load) error {
	n.mu.Lock()
	n.filled = append(n.filled, l.CouponID)
	n.mu.Unlock()
	err := n.Shards.Fill(ctx, l)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.done++; n.done == n.wanted {
		close(n.all)
	}
	return err
}

// lostAll has some coupons that are on sale, and then empties Redis. The last coupon has begun, the others have not.
func lostAll(t *testing.T, s *shop, coupons int) (all []coupon.Coupon) {
	t.Helper()
	for i := range coupons {
		d := draft(10)
		if d.BeginsAt = during.Add(time.Minute); i == coupons-1 {
			d.BeginsAt = opens
		}
		c, err := s.Create(t.Context(), d)
		require.NoError(t, err)
		c, err = s.Publish(t.Context(), c.ID)
		require.NoError(t, err)
		all = append(all, c)
	}
	require.NoError(t, s.redis.FlushAll(t.Context()).Err())
	return all
}

func TestRunRestorer_ManyLost_OneLookLoadsAllAndThoseOnSaleFirst(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		const coupons = 40
		all := lostAll(t, s, coupons)
		fills := &noted{Shards: s.stock, wanted: coupons, all: make(chan struct{})}
		list := &oneList{Loader: s.deps.Loader}
		stop := s.watching(t, 1, func(p *coupon.Deps) { p.Shards, p.Loader, p.Exclusive = fills, list, notExclusive })
		defer stop()
		select {
		case <-fills.all:
		case <-time.After(20 * time.Second):
			fills.mu.Lock()
			defer fills.mu.Unlock()
			t.Fatalf("one look has loaded %d of %d lost coupons", len(fills.filled), coupons)
		}
		// Eight are loaded at once, and a quick one may make place for a ninth before the first has reached its shards.
		require.Contains(t, fills.filled[:16], all[coupons-1].ID, "the coupon that is sold is among the first")
		require.Less(t, list.beats.Load(), int64(coupons/2), "the loadings share heartbeats")
	})
}
