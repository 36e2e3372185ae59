package audit

import (
	"context"
	"time"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
	"example.com/seckill/internal/stock"
	"example.com/seckill/internal/store"
)

// evidence is one reading of both stores.
type evidence struct {
	coupon coupon.Coupon
	totals store.Totals
	shards []stock.Shard
	quiet  bool // Redis did not change during the reading
	apart  bool // the units do not pass through the shards
	at     time.Time

	holds    int64 // units held
	sold     int64 // units held whose orders are committed
	queued   int64 // units held for queued requests
	ended    int64 // units held for queued requests that have a row
	dropped  int64 // held units of queued requests that have neither an entry nor a row
	ordered  int64 // requests that Redis records as ordered
	found    int64 // requests recorded as ordered that have a row
	other    int64 // requests recorded as ordered whose row is another order
	owed     int64 // units on their way to the shards
	counted  int64 // users whose orders both stores know
	mismatch int64 // users whose orders the two stores count in different numbers of orders

	draw *drawn // nil: nothing was drawn
}

func (a *Auditor) read(ctx context.Context, couponID int64) (evidence, error) {
	first, err := a.database.Coupon(ctx, couponID)
	if err != nil {
		return evidence{}, err
	}
	e := evidence{}
	if e.shards, err = a.redis.ReadShards(ctx, couponID, first.Shards); err != nil {
		return e, err
	}
	e.at = time.Now().UTC()
	err = a.database.ReadSnapshot(ctx, couponID, func(ctx context.Context, l store.Snapshot) (err error) {
		e.coupon = l.Coupon()
		e.countRaised()
		if err := a.readOrders(ctx, &e, l); err != nil {
			return err
		}
		if err := e.readDraw(ctx, l); err != nil {
			return err
		}
		if err := a.readHolds(ctx, &e, l); err != nil {
			return err
		}
		return a.readOwed(ctx, &e, l)
	})
	if err != nil {
		return e, err
	}
	again, err := a.redis.ReadShards(ctx, couponID, first.Shards)
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

// countRaised counts the units that were added to the running sale and that the shards do not have.
func (e *evidence) countRaised() {
	for k, s := range e.shards {
		if s.Epoch == e.coupon.Epoch {
			e.owed += max(0, coupon.Share(e.coupon.Raised, len(e.shards), k)-s.Raised)
		}
	}
}

// readOwed counts the units of this epoch that the outbox still owes to the shards.
func (a *Auditor) readOwed(ctx context.Context, e *evidence, l store.Snapshot) error {
	return l.Outbox(ctx, func(ctx context.Context, due []order.Restock) error {
		applied, err := a.redis.Applied(ctx, due)
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

// readOrders compares each order of the database with the records of the shards.
func (a *Auditor) readOrders(ctx context.Context, e *evidence, l store.Snapshot) (err error) {
	e.totals, err = l.Orders(ctx, func(ctx context.Context, page []store.SnapshotOrder) error {
		orders := make([]order.Order, len(page))
		for i, b := range page {
			orders[i] = b.Order
		}
		traces, err := a.redis.Traces(ctx, e.coupon.ID, e.shards, orders)
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
			if len(e.shards) > 0 {
				e.matchRecord(b.Order, traces[i].Home)
				e.matchRecord(b.Order, traces[i].Lender)
			}
		}
		e.compare(of)
		return nil
	})
	return err
}

// matchRecord counts the record that a shard has of an order in the database.
func (e *evidence) matchRecord(o order.Order, m stock.ShardRecord) {
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
	case o.Status == order.Void: // recorded as ordered before its request was voided
	case m.OrderID != o.ID:
		e.found++
		e.other++
	default:
		e.found++
	}
}

// user is one user's account of live orders, in the database and in the home shard. The home shard
// does not count an order yet whose hold is not confirmed, and still counts one whose unit is owed.
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

// compare counts the user if the two accounts disagree.
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

// readHolds counts the open holds, and looks for the queue entries of the queued ones. A request
// that a shard records without a hold is an ordered one.
func (a *Auditor) readHolds(ctx context.Context, e *evidence, l store.Snapshot) error {
	for k, head := range e.shards {
		if head.Holds == 0 { // if one was opened since, the shard has changed, and the reading is not quiet
			e.ordered += head.Requests
			continue
		}
		open, err := a.readShard(ctx, e, l, k)
		if err != nil {
			return err
		}
		e.ordered += max(0, head.Requests-open)
	}
	return nil
}

func (a *Auditor) readShard(ctx context.Context, e *evidence, l store.Snapshot, k int) (open int64, err error) {
	waiting, err := a.redis.QueuedOrders(ctx, e.coupon.ID, k)
	if err != nil {
		return 0, err
	}
	var missing []string
	for h, err := range a.redis.OpenHolds(ctx, e.coupon.ID, k, len(e.shards)) {
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
		if len(missing) == maxMissing {
			if err := e.countDropped(ctx, l, missing); err != nil {
				return 0, err
			}
			missing = nil
		}
	}
	return open, e.countDropped(ctx, l, missing)
}

// maxMissing is the number of requests without an entry that one statement looks up.
const maxMissing = 500

// countDropped counts the requests that have no row either: their entries were acknowledged before
// the commit.
func (e *evidence) countDropped(ctx context.Context, l store.Snapshot, requests []string) error {
	rows, err := l.OrdersByRequest(ctx, requests)
	if err != nil {
		return err
	}
	e.dropped += int64(len(requests) - len(rows))
	return nil
}
