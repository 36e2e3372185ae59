package audit

import (
	"context"
	"time"

	"seckill/internal/coupon"
	"seckill/internal/order"
	"seckill/internal/stock"
	"seckill/internal/store"
)

// evidence is one reading of both stores.
type evidence struct {
	coupon coupon.Coupon
	totals store.Totals
	shards []stock.Shard
	quiet  bool // nothing changed in Redis during the reading
	at     time.Time

	holds    int64 // units held,
	sold     int64 // and those among them whose orders are committed
	queued   int64 // units held for requests in the queue,
	ended    int64 // and those among them whose requests have a row
	dropped  int64 // held units of queued requests that have neither an entry nor a row
	ordered  int64 // requests that Redis remembers as ordered,
	found    int64 // those among them that have a row
	other    int64 // and those that have another order there
	owed     int64 // units on their way to the shards
	counted  int64 // users of whom both stores know orders
	mismatch int64 // users of whose orders Redis has another number than the database
}

func (a *Auditor) look(ctx context.Context, couponID int64) (evidence, error) {
	first, err := a.database.Coupon(ctx, couponID)
	if err != nil {
		return evidence{}, err
	}
	e := evidence{}
	if e.shards, err = a.shards.ReadShards(ctx, couponID, first.Shards); err != nil {
		return e, err
	}
	e.at = time.Now().UTC()
	err = a.database.ReadSnapshot(ctx, couponID, func(ctx context.Context, l store.Snapshot) error {
		e.coupon = l.Coupon()
		if err := a.readOrders(ctx, &e, l); err != nil {
			return err
		}
		if err := a.readHolds(ctx, &e, l); err != nil {
			return err
		}
		return a.readDue(ctx, &e, l)
	})
	if err != nil {
		return e, err
	}
	again, err := a.shards.ReadShards(ctx, couponID, first.Shards)
	e.quiet = err == nil && e.coupon.Epoch == first.Epoch && same(e.shards, again)
	return e, err
}

func same(a, b []stock.Shard) bool {
	for k := range a {
		if a[k].Ops != b[k].Ops || a[k].Epoch != b[k].Epoch || a[k].Open != b[k].Open {
			return false
		}
	}
	return true
}

// readDue counts the units of this epoch that the shards do not have yet.
func (a *Auditor) readDue(ctx context.Context, e *evidence, l store.Snapshot) error {
	return l.Outbox(ctx, func(ctx context.Context, due []order.Restock) error {
		applied, err := a.shards.Applied(ctx, due)
		if err != nil {
			return err
		}
		for i, r := range due {
			if r.Epoch == e.coupon.Epoch && !applied[i] {
				e.owed++
			}
		}
		return nil
	})
}

// readOrders holds each order of the database against what the shards know of it.
func (a *Auditor) readOrders(ctx context.Context, e *evidence, l store.Snapshot) (err error) {
	e.totals, err = l.Orders(ctx, func(ctx context.Context, page []store.SnapshotOrder) error {
		orders := make([]order.Order, len(page))
		for i, b := range page {
			orders[i] = b.Order
		}
		traces, err := a.shards.Traces(ctx, e.coupon.ID, e.shards, orders)
		if err != nil {
			return err
		}
		var of user
		for i, b := range page {
			if i == 0 || b.UserID != page[i-1].UserID {
				e.compare(of)
				of = user{bought: traces[i].Bought, known: true}
			}
			of.add(b, traces[i], e.coupon.Epoch)
			e.remember(b.Order, traces[i].Home)
			e.remember(b.Order, traces[i].Lender)
		}
		e.compare(of)
		return nil
	})
	return err
}

// remember counts what a shard knows of an order that the database has.
func (e *evidence) remember(o order.Order, m stock.ShardRecord) {
	switch {
	case m.OrderID == 0:
	case m.Hold != nil:
		if !m.Hold.Unit {
			return
		}
		if m.OrderID == o.ID && o.Status != order.Void {
			e.sold++
		}
		if m.Hold.Queued {
			e.ended++
		}
	case o.Status == order.Void: // it is remembered as ordered, and was given up
	case m.OrderID != o.ID:
		e.found++
		e.other++
	default:
		e.found++
	}
}

// user is the account of a user's live orders: the database's, and the home shard's. An
// order whose hold is not confirmed is not yet in that one, and one whose unit is owed
// is still in it.
type user struct {
	known        bool
	live, bought int64
	unconfirmed  int64
	owed         int64
}

func (u *user) add(b store.SnapshotOrder, t stock.Trace, epoch int64) {
	if b.Status.Live() {
		u.live++
	}
	if t.Home.Hold != nil && t.Home.OrderID == b.ID && b.Status != order.Void {
		u.unconfirmed++
	}
	if b.Owed && b.Epoch == epoch && !t.Returned {
		u.owed++
	}
}

// compare notes whether the two accounts of a user agree.
func (e *evidence) compare(u user) {
	if !u.known {
		return
	}
	if u.bought > 0 {
		e.counted++
	}
	if u.bought+u.unconfirmed-u.owed != u.live {
		e.mismatch++
	}
}

// readHolds counts the open holds, and looks for the entries of those that are queued. Of
// the requests that a shard remembers those are ordered that have no hold.
func (a *Auditor) readHolds(ctx context.Context, e *evidence, l store.Snapshot) error {
	for k, head := range e.shards {
		open, err := a.readShard(ctx, e, l, k)
		if err != nil {
			return err
		}
		e.ordered += max(0, head.Requests-open)
	}
	return nil
}

func (a *Auditor) readShard(ctx context.Context, e *evidence, l store.Snapshot, k int) (open int64, err error) {
	waiting, err := a.shards.QueuedOrders(ctx, e.coupon.ID, k)
	if err != nil {
		return 0, err
	}
	var missing []string
	for h, err := range a.shards.OpenHolds(ctx, e.coupon.ID, k, len(e.shards)) {
		if err != nil {
			return 0, err
		}
		open++
		if !h.Unit {
			continue
		}
		e.holds++
		if !h.Queued {
			continue
		}
		e.queued++
		if !waiting[h.OrderID] {
			missing = append(missing, h.RequestID)
		}
		if len(missing) == entriesAtOnce {
			if err := e.miss(ctx, l, missing); err != nil {
				return 0, err
			}
			missing = nil
		}
	}
	return open, e.miss(ctx, l, missing)
}

// entriesAtOnce is how many requests without an entry are looked up in one statement.
const entriesAtOnce = 500

// miss counts the requests that no row has ended either: their entries were acknowledged
// too early.
func (e *evidence) miss(ctx context.Context, l store.Snapshot, requests []string) error {
	rows, err := l.OrdersByRequest(ctx, requests)
	if err != nil {
		return err
	}
	e.dropped += int64(len(requests) - len(rows))
	return nil
}
