// Package audit compares the data in Redis with the data in the database, and reports every difference.
//
// The auditor cannot stop one store while it reads the other. So it reads in this order:
//
//	read the shards ─▶ read the database, at one moment ─▶ read the shards again
//
// If no shard has changed between the first and the last reading, all three readings show one moment. The auditor reads
// page by page, and compares each page with the other store at once. So an audit of a million orders needs no more
// memory than an audit of a thousand. Under load the shards may change during every reading. An invariant that needs
// both stores is then "unsettled", which is not a violation.
package audit

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
	"example.com/seckill/internal/stock"
	"example.com/seckill/internal/store"
)

// Database is the part of the SQL database that the auditor reads. *store.Store implements it.
type Database interface {
	Coupon(ctx context.Context, id int64) (coupon.Coupon, error)
	ReadSnapshot(ctx context.Context, couponID int64, read func(context.Context, store.Snapshot) error) error
}

// Redis is the part of Redis that the auditor reads. *stock.Stock implements it.
type Redis interface {
	ReadShards(ctx context.Context, couponID int64, shards int) ([]stock.Shard, error)
	OpenHolds(ctx context.Context, couponID int64, shard, shards int) iter.Seq2[stock.Held, error]
	Traces(ctx context.Context, couponID int64, heads []stock.Shard, orders []order.Order) ([]stock.Trace, error)
	Applied(ctx context.Context, returns []order.Restock) ([]bool, error)
	QueuedOrders(ctx context.Context, couponID int64, shard int) (map[int64]bool, error)
}

// Repairer makes the repairs that are always safe. *order.Reconciler implements it.
type Repairer interface {
	Reconcile(ctx context.Context, c coupon.Coupon, age time.Duration) (int, error)
	Relay(ctx context.Context) (int, error)
}

// Reloader loads the shards from the database. *coupon.Service implements it.
type Reloader interface {
	// Heartbeat returns coupon.ErrOtherDeployment if another database uses Redis.
	Heartbeat(ctx context.Context) error
	Reload(ctx context.Context, couponID int64) (coupon.Coupon, error)
}

// Auditor audits one coupon at a time.
type Auditor struct {
	database       Database
	redis          Redis
	repairer       Repairer
	reloader       Reloader
	reconcileAfter time.Duration
	apart          Apart // nil: the units pass through the shards
}

// Apart describes orders whose units do not pass through the shards of Redis.
type Apart interface {
	// Units returns the units that are not sold and that the coupon's row does not count.
	Units(ctx context.Context, couponID int64) (int64, error)
	// Waiting returns the number of acknowledged requests that have no row.
	Waiting(ctx context.Context, couponID int64) (int64, error)
}

// Apart returns an Auditor for such orders. It checks the database by the same rules, and does not run the invariants
// that need the shards.
func (a *Auditor) Apart(from Apart) *Auditor {
	other := *a
	other.apart = from
	return &other
}

// New returns an Auditor. Repair reconciles holds that are at least reconcileAfter old. A younger hold may belong to a
// request in progress.
func New(b Database, s Redis, m Repairer, r Reloader, reconcileAfter time.Duration) *Auditor {
	return &Auditor{database: b, redis: s, repairer: m, reloader: r, reconcileAfter: reconcileAfter}
}

// Audit repeats a reading until no shard changes during it. maxReadings is the limit on readings, pause the shortest
// time between two readings, and timeout the time for all readings. One reading of a hundred thousand orders takes
// seconds.
const (
	maxReadings = 20
	pause       = 50 * time.Millisecond
	timeout     = 5 * time.Second
)

// Audit reads both stores and checks every invariant. It returns coupon.ErrNotFound if the coupon does not exist. If
// the shards change during every reading, Audit reports the last reading. It reports before ctx ends if one reading
// fits into that time.
func (a *Auditor) Audit(ctx context.Context, couponID int64) (Report, error) {
	until := time.Now().Add(timeout)
	if by, bounded := ctx.Deadline(); bounded && by.Before(until) {
		until = by
	}
	var e evidence
	for reading := range maxReadings {
		began := time.Now()
		var err error
		read := a.read
		if a.apart != nil {
			read = a.readApart
		}
		if e, err = read(ctx, couponID); err != nil {
			return Report{}, err
		}
		rest := pause * time.Duration(min(reading+1, 4))
		if e.quiet || !time.Now().Add(rest+time.Since(began)).Before(until) {
			break // another reading would not end in time
		}
		select {
		case <-ctx.Done():
			return Report{}, ctx.Err()
		case <-time.After(rest):
		}
	}
	return e.check(), nil
}

// Repair makes the repairs that are safe, and audits the coupon:
//
//	reconcile old holds ─▶ relay the outbox ─▶ is Redis still wrong, or not loaded? load a new epoch
//
// It loads no epoch if Redis is right or only unsettled, because loading closes the sale for a moment. Repair
// reconciles an ended sale, and does not load it. If the database is a copy, Repair repairs nothing. The holds then
// belong to orders that the copy does not have.
func (a *Auditor) Repair(ctx context.Context, couponID int64) (Report, error) {
	if err := a.reloader.Heartbeat(ctx); err != nil {
		return Report{}, fmt.Errorf("repair coupon %d: %w", couponID, err)
	}
	c, err := a.database.Coupon(ctx, couponID)
	if err != nil {
		return Report{}, err
	}
	_, reconciled := a.repairer.Reconcile(ctx, c, a.reconcileAfter)
	_, relayed := a.repairer.Relay(ctx)
	for _, err := range []error{reconciled, relayed} {
		if err != nil && !errors.Is(err, coupon.ErrNotLoaded) {
			return Report{}, fmt.Errorf("repair coupon %d: %w", couponID, err)
		}
	}
	report, err := a.Audit(ctx, couponID)
	if err != nil || !report.repairable() || c.StateAt(report.TakenAt) == coupon.Ended {
		return report, err
	}
	if _, err := a.reloader.Reload(ctx, couponID); err != nil {
		return Report{}, fmt.Errorf("repair coupon %d: %w", couponID, err)
	}
	return a.Audit(ctx, couponID)
}

// repairable reports whether loading would help. Loading helps if the shards contradict the database. It also helps if
// the shards are not loaded, because the instance that was loading them died. Loading cannot repair the database itself
// (I1 to I3, and I4 with them). Of I3 it repairs the account in Redis.
func (r Report) repairable() bool {
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
