// Package audit compares what Redis holds with what the database says, and tells
// what differs.
//
// Neither store can be stopped while the other is read, so the order is
//
//	read the shards ─▶ read the database, at one moment ─▶ read the shards again
//
// and if no shard has changed in between, all three readings are of one moment.
// Under load that may never be so: then what needs both stores is "unsettled",
// which accuses nobody.
package audit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"seckill/internal/coupon"
	"seckill/internal/order"
	"seckill/internal/stock"
	"seckill/internal/store"
)

// Books is the database's side. *store.Store is one.
type Books interface {
	Coupon(ctx context.Context, id int64) (coupon.Coupon, error)
	Books(ctx context.Context, couponID int64, requests []string) (store.Books, error)
}

// Shards is Redis' side. *stock.Stock is one.
type Shards interface {
	Snapshot(ctx context.Context, couponID int64, shards int) ([]stock.Shard, error)
	History(ctx context.Context, couponID int64, shard int) (map[string]int64, error)
	Buyers(ctx context.Context, couponID int64, shards int) (map[int64]int64, error)
	Applied(ctx context.Context, returns []order.Return) ([]bool, error)
	Waiting(ctx context.Context, couponID int64, shard int) (map[int64]bool, error)
}

// Mender does the repairs that are always safe. *order.Settler is one.
type Mender interface {
	Settle(ctx context.Context, c coupon.Coupon, age time.Duration) (int, error)
	Relay(ctx context.Context) (int, error)
}

// Reloader sets the shards from the database. *coupon.Service is one.
type Reloader interface {
	Reload(ctx context.Context, couponID int64) (coupon.Coupon, error)
}

// Auditor audits one coupon at a time.
type Auditor struct {
	books       Books
	shards      Shards
	mender      Mender
	reloader    Reloader
	settleAfter time.Duration
}

// New makes an Auditor. Repair settles holds from the age of settleAfter on: a
// younger one may belong to a request in progress.
func New(b Books, s Shards, m Mender, r Reloader, settleAfter time.Duration) *Auditor {
	return &Auditor{books: b, shards: s, mender: m, reloader: r, settleAfter: settleAfter}
}

// looks is how often the stores are read in the hope of a quiet moment, pause the time
// between two looks, and patience that for all of them: a hundred thousand orders take
// seconds to look at.
const (
	looks    = 20
	pause    = 50 * time.Millisecond
	patience = 5 * time.Second
)

// Audit reads both stores and judges every invariant. coupon.ErrNotFound if there
// is no such coupon. In a sale that does not rest for as long as a look takes, it answers
// what it saw, before ctx ends if one look can be had by then.
func (a *Auditor) Audit(ctx context.Context, couponID int64) (Report, error) {
	until := time.Now().Add(patience)
	if by, bounded := ctx.Deadline(); bounded && by.Before(until) {
		until = by
	}
	var e evidence
	for look := range looks {
		began := time.Now()
		var err error
		if e, err = a.look(ctx, couponID); err != nil {
			return Report{}, err
		}
		rest := pause * time.Duration(min(look+1, 4))
		if e.quiet || !time.Now().Add(rest+time.Since(began)).Before(until) {
			break // another look would not be over in time
		}
		select {
		case <-ctx.Done():
			return Report{}, ctx.Err()
		case <-time.After(rest):
		}
	}
	return e.judge(), nil
}

// evidence is one reading of both stores.
type evidence struct {
	books   store.Books
	shards  []stock.Shard
	applied []bool           // of the outbox, whether the shards have it
	history map[string]int64 // requests that Redis remembers as ordered
	buyers  map[int64]int64  // the shards' account of each user's orders
	waiting []map[int64]bool // the orders in each shard's queue
	quiet   bool             // nothing changed in Redis during the reading
	at      time.Time
}

func (a *Auditor) look(ctx context.Context, couponID int64) (evidence, error) {
	first, err := a.books.Coupon(ctx, couponID)
	if err != nil {
		return evidence{}, err
	}
	parts := first.Shards
	e := evidence{history: map[string]int64{}}
	if e.shards, err = a.shards.Snapshot(ctx, couponID, parts); err != nil {
		return e, err
	}
	open := map[string]bool{}
	for _, s := range e.shards {
		for _, h := range s.Holds {
			open[h.RequestID] = true
		}
	}
	asked := make([]string, 0, len(open))
	for k := range parts {
		history, err := a.shards.History(ctx, couponID, k)
		if err != nil {
			return e, err
		}
		for request, id := range history {
			asked = append(asked, request)
			if !open[request] {
				e.history[request] = id
			}
		}
	}
	for request := range open {
		asked = append(asked, request)
	}
	if e.buyers, err = a.shards.Buyers(ctx, couponID, parts); err != nil {
		return e, err
	}
	if e.waiting, err = a.waiting(ctx, couponID, parts); err != nil {
		return e, err
	}
	e.at = time.Now().UTC()
	if e.books, err = a.books.Books(ctx, couponID, asked); err != nil {
		return e, err
	}
	if e.applied, err = a.shards.Applied(ctx, e.books.Due); err != nil {
		return e, err
	}
	again, err := a.shards.Snapshot(ctx, couponID, parts)
	e.quiet = err == nil && e.books.Coupon.Epoch == first.Epoch && same(e.shards, again)
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

// Repair mends what is safe to mend, and audits:
//
//	settle old holds ─▶ relay the outbox ─▶ is Redis still wrong, or not loaded? load a new epoch
//
// Repairing what is right changes nothing, nor does repairing what is only unsettled:
// loading closes the sale for a moment. An ended sale is settled and not loaded.
func (a *Auditor) Repair(ctx context.Context, couponID int64) (Report, error) {
	c, err := a.books.Coupon(ctx, couponID)
	if err != nil {
		return Report{}, err
	}
	_, settled := a.mender.Settle(ctx, c, a.settleAfter)
	_, relayed := a.mender.Relay(ctx)
	for _, err := range []error{settled, relayed} {
		if err != nil && !errors.Is(err, coupon.ErrNotLoaded) {
			return Report{}, fmt.Errorf("repair coupon %d: %w", couponID, err)
		}
	}
	report, err := a.Audit(ctx, couponID)
	if err != nil || !report.mendable() || c.StateAt(report.TakenAt) == coupon.Ended {
		return report, err
	}
	if _, err := a.reloader.Reload(ctx, couponID); err != nil {
		return Report{}, fmt.Errorf("repair coupon %d: %w", couponID, err)
	}
	return a.Audit(ctx, couponID)
}

// mendable says whether the shards contradict the database, which a loading sets
// right, or are not loaded yet, because whoever was at it may have died. What the
// database itself has wrong (I1 to I3, and I4 with it) stays so; of I3 it is the account
// in Redis that is loaded again.
func (r Report) mendable() bool {
	if r.Loading || r.Miscounted > 0 {
		return true
	}
	for _, id := range []string{"I5", "I6", "I7"} {
		if r.status(id) == Violated {
			return true
		}
	}
	return false
}
