// Package audit compares what Redis holds with what the database says, and tells
// what differs.
//
// Neither store can be stopped while the other is read, so the order is
//
//	read the shards ─▶ read the database, at one moment ─▶ read the shards again
//
// and if no shard has changed in between, all three readings are of one moment. All is
// read a page at a time, and each page is held against the other store at once, so an
// audit of a million orders needs no more memory than one of a thousand. Under load there
// may be no such moment: then what needs both stores is "unsettled", which is no violation.
package audit

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"seckill/internal/coupon"
	"seckill/internal/order"
	"seckill/internal/stock"
	"seckill/internal/store"
)

// Database is what the auditor reads of the SQL database. *store.Store implements it.
type Database interface {
	Coupon(ctx context.Context, id int64) (coupon.Coupon, error)
	ReadSnapshot(ctx context.Context, couponID int64, read func(context.Context, store.Snapshot) error) error
}

// Shards is what the auditor reads of Redis. *stock.Stock implements it.
type Shards interface {
	ReadShards(ctx context.Context, couponID int64, shards int) ([]stock.Shard, error)
	OpenHolds(ctx context.Context, couponID int64, shard, shards int) iter.Seq2[stock.Held, error]
	Traces(ctx context.Context, couponID int64, heads []stock.Shard, orders []order.Order) ([]stock.Trace, error)
	Applied(ctx context.Context, returns []order.Restock) ([]bool, error)
	QueuedOrders(ctx context.Context, couponID int64, shard int) (map[int64]bool, error)
}

// Mender does the repairs that are always safe. *order.Settler is one.
type Mender interface {
	Reconcile(ctx context.Context, c coupon.Coupon, age time.Duration) (int, error)
	Relay(ctx context.Context) (int, error)
}

// Reloader sets the shards from the database. *coupon.Service is one.
type Reloader interface {
	Reload(ctx context.Context, couponID int64) (coupon.Coupon, error)
}

// Auditor audits one coupon at a time.
type Auditor struct {
	database    Database
	shards      Shards
	mender      Mender
	reloader    Reloader
	settleAfter time.Duration
}

// New makes an Auditor. Repair settles holds from the age of settleAfter on: a
// younger one may belong to a request in progress.
func New(b Database, s Shards, m Mender, r Reloader, settleAfter time.Duration) *Auditor {
	return &Auditor{database: b, shards: s, mender: m, reloader: r, settleAfter: settleAfter}
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

// Repair mends what is safe to mend, and audits:
//
//	settle old holds ─▶ relay the outbox ─▶ is Redis still wrong, or not loaded? load a new epoch
//
// Repairing what is right changes nothing, nor does repairing what is only unsettled:
// loading closes the sale for a moment. An ended sale is settled and not loaded.
func (a *Auditor) Repair(ctx context.Context, couponID int64) (Report, error) {
	c, err := a.database.Coupon(ctx, couponID)
	if err != nil {
		return Report{}, err
	}
	_, settled := a.mender.Reconcile(ctx, c, a.settleAfter)
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

// mendable reports whether the shards contradict the database, which a loading sets
// right, or are not loaded yet, because the instance that was at it may have died. What the
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
