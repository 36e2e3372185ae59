package scale

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"seckill/internal/coupon"
	"seckill/internal/order"
)

// Loading is what the loadings of one coupon took.
type Loading struct {
	Orders  int64         // live orders, each of another user, filled in by SQL
	FillIn  time.Duration // of those
	Begin   time.Duration // the epoch alone: so long orders wait for the coupon's row
	Publish time.Duration
	Restore time.Duration // after FLUSHALL, from the first look on
	Memory  int64         // of this process, in bytes, at the end
	Others  Latency       // of orders of another coupon while this one was loaded, twice
	Noted   int64         // buyers that Redis knows at the end
}

// Latency is how long some orders took.
type Latency struct {
	Orders   int
	P50, P99 time.Duration
	Refused  int
}

// PlayLoading fills in so many orders and loads their coupon: by a publication, and by
// what notices that Redis was emptied.
func (e *Env) PlayLoading(ctx context.Context, orders int64) (Loading, error) {
	l := Loading{Orders: orders}
	c, err := e.Sell(ctx, orders+orders/10)
	if err != nil {
		return l, err
	}
	if l.FillIn, err = timed(func() error { return e.Fill(ctx, c.ID, orders) }); err != nil {
		return l, err
	}
	other, err := e.Sell(ctx, 1_000_000)
	if err != nil {
		return l, err
	}
	if other, err = e.coupons.Publish(ctx, other.ID); err != nil {
		return l, fmt.Errorf("publish the other coupon: %w", err)
	}
	buying, stop := context.WithCancel(ctx)
	var seen []time.Duration
	refused := 0
	var crowd sync.WaitGroup
	crowd.Go(func() { seen, refused = e.buy(buying, other) })
	l.Publish, err = timed(func() error { _, err := e.coupons.Publish(ctx, c.ID); return err })
	stop()
	crowd.Wait()
	if err != nil {
		return l, fmt.Errorf("publish: %w", err)
	}
	slices.Sort(seen)
	if n := len(seen); n > 0 {
		l.Others = Latency{Orders: n, P50: seen[n/2], P99: seen[n*99/100], Refused: refused}
	}
	if err := e.client.FlushAll(ctx).Err(); err != nil {
		return l, fmt.Errorf("empty Redis: %w", err)
	}
	if l.Restore, err = timed(func() error { return e.restore(ctx, c.ID) }); err != nil {
		return l, err
	}
	l.Memory = Peak()
	if l.Noted, err = e.noted(ctx, c.ID); err != nil {
		return l, err
	}
	l.Begin, err = timed(func() error { return e.begin(ctx, c.ID) })
	return l, err
}

// begin begins an epoch, and nothing else.
func (e *Env) begin(ctx context.Context, id int64) error {
	c, err := e.store.Coupon(ctx, id)
	if err != nil {
		return fmt.Errorf("read the coupon: %w", err)
	}
	if _, err := e.store.Coupons().NextEpoch(ctx, id, c.Epoch, Shards, coupon.KeepState); err != nil {
		return fmt.Errorf("begin an epoch: %w", err)
	}
	return nil
}

// restore lets the program notice by itself that the stock is lost.
func (e *Env) restore(ctx context.Context, id int64) error {
	watching, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	running.Go(func() { e.coupons.RunRestorer(watching, 10*time.Millisecond, func(int, error) {}) })
	for {
		c, err := e.store.Coupon(ctx, id)
		if err != nil {
			return fmt.Errorf("read the coupon: %w", err)
		}
		loaded, err := e.stock.Loaded(ctx, id, c.Epoch, c.Shards)
		if err != nil {
			return fmt.Errorf("ask the shards: %w", err)
		}
		if loaded && !c.Loading {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// noted counts the buyers that the shards know.
func (e *Env) noted(ctx context.Context, id int64) (int64, error) {
	all, err := e.stock.ReadShards(ctx, id, Shards)
	if err != nil {
		return 0, fmt.Errorf("count the buyers: %w", err)
	}
	n := int64(0)
	for _, shard := range all {
		n += shard.Buyers
	}
	return n, nil
}

// buy orders one unit after the other, as the order path does but for its lock.
func (e *Env) buy(ctx context.Context, c coupon.Coupon) (took []time.Duration, refused int) {
	for id := int64(1 << 40); ctx.Err() == nil; id++ {
		began := time.Now()
		if err := e.order(context.WithoutCancel(ctx), c, id); err != nil {
			refused++
			continue
		}
		took = append(took, time.Since(began))
	}
	return took, refused
}

func (e *Env) order(ctx context.Context, c coupon.Coupon, id int64) error {
	request := fmt.Sprintf("bought:%d", id)
	h, err := e.stock.Reserve(ctx, order.ReserveRequest{
		CouponID: c.ID, UserID: id, RequestID: request, OrderID: id, Limit: 1, Epoch: c.Epoch, Shards: c.Shards,
	})
	if err != nil {
		return fmt.Errorf("reserve: %w", err)
	}
	now := time.Now()
	err = e.store.InTx(ctx, func(ctx context.Context, tx order.Tx) error {
		if err := tx.Fence(ctx, id, 1); err != nil {
			return err
		}
		o := order.Order{
			ID: id, CouponID: c.ID, UserID: id, Slot: 1, Status: order.Paid, RequestID: request,
			Shard: h.Shard, Fence: 1, CreatedAt: now, ExpiresAt: now,
		}
		if err := tx.Insert(ctx, o); err != nil {
			return err
		}
		return tx.TakeOne(ctx, c.ID, c.Epoch)
	})
	if err != nil {
		return fmt.Errorf("order: %w", err)
	}
	return e.stock.Confirm(ctx, h)
}

func timed(do func() error) (time.Duration, error) {
	began := time.Now()
	err := do()
	return time.Since(began), err
}
