package app

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/api"
	"example.com/seckill/internal/audit"
	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// Design makes and reads the orders instead of the order service. A tool implements it, to compare designs under the
// same API, page, load generator and audit:
//
//	API ─▶ Design ─▶ stores            Place, Get, List
//	API ─▶ order service ─▶ database   payment, cancellation, expiry
//
// The units of a Design do not pass through the shards of Redis.
type Design interface {
	api.Orders
	audit.Apart

	// Prepare is called before a coupon goes on sale.
	Prepare(ctx context.Context, couponID int64) error
	// Info returns the name of the design for the page.
	Info() api.Design
	Close(ctx context.Context) error
}

// OrderReader reads orders that are rows. *order.Service implements it.
type OrderReader interface {
	Get(ctx context.Context, id, userID int64) (order.Order, error)
	List(ctx context.Context, userID, before int64, limit int) ([]order.Order, error)
}

// DesignDeps are the dependencies of a Design.
type DesignDeps struct {
	DB        *sql.DB // the pool that the order service writes through
	Embedded  bool    // DB is SQLite with one connection
	Redis     redis.UniversalClient
	Prefix    string // of the keys in Redis
	Sales     order.Sales
	IDs       order.IDs
	Orders    OrderReader
	PayWithin time.Duration
	Now       func() time.Time
	Log       *slog.Logger
}

// NewDesign returns a Design, or nil if the order service makes the orders. It returns an error if the database holds
// orders that another design has made.
type NewDesign func(ctx context.Context, d DesignDeps) (Design, error)

// openDesign opens the design, unless the order service makes the orders.
func (a *App) openDesign(ctx context.Context, open NewDesign, ids order.IDs) error {
	if open == nil {
		return nil
	}
	d, err := open(ctx, DesignDeps{
		DB: a.store.Pool(), Embedded: a.embedded != nil, Redis: a.redis, Prefix: a.cfg.Redis.Prefix, Sales: a.Cache, IDs: ids,
		Orders: a.orders, PayWithin: a.cfg.Order.PaymentTimeout, Now: a.clock.Now, Log: a.log,
	})
	if err != nil || d == nil {
		return err
	}
	a.onStop(d.Close)
	if a.cfg.Order.Mode != "sync" || a.cfg.Order.PurchaseToken != "off" {
		return Usage(errors.New("a design needs order.mode: sync and order.purchase_token: off"))
	}
	a.design = d
	return nil
}

// beforePublish prepares the draw or the design of a coupon that is about to go on sale.
func (a *App) beforePublish(ctx context.Context, couponID int64) error {
	if a.design != nil {
		return a.design.Prepare(ctx, couponID)
	}
	if makeDraw := makesDraws(a.cfg.Order, a.store); makeDraw != nil {
		return makeDraw(ctx, couponID)
	}
	return nil
}

// useDesign sets the parts of the API that a design replaces.
func (a *App) useDesign(deps *api.Deps) {
	if a.design == nil {
		return
	}
	status, info := designStatus{saleStatus{a}}, a.design.Info()
	view := designView{a.Coupons, status}
	deps.Orders, deps.Design, deps.Coupons, deps.Stock = a.design, &info, view, view
	deps.SaleStatus = status
	deps.Auditor = auditReports{a.Auditor.Apart(a.design)}
}

// designView shows the coupons with the units that a design keeps outside the coupon's row.
type designView struct {
	*coupon.Service
	designStatus
}

// Get returns a coupon with all units that are left.
func (v designView) Get(ctx context.Context, id int64) (coupon.Coupon, error) {
	c, err := v.Service.Get(ctx, id)
	if err != nil {
		return c, err
	}
	units, err := v.design.Units(ctx, id)
	c.Left += units
	return c, err
}

// List returns coupons with all units that are left.
func (v designView) List(ctx context.Context, after int64, limit int) ([]coupon.Coupon, error) {
	all, err := v.Service.List(ctx, after, limit)
	all = append([]coupon.Coupon(nil), all...) // the cache owns the list
	for i := range all {
		units, failed := v.design.Units(ctx, all[i].ID)
		all[i].Left += units
		err = errors.Join(err, failed)
	}
	return all, err
}

// Remaining returns the units that can be bought, as those of one shard.
func (v designView) Remaining(ctx context.Context, couponID int64, _ int) ([]int64, error) {
	l, err := v.Ledger(ctx, couponID)
	if err != nil {
		return nil, err
	}
	waiting, err := v.design.Waiting(ctx, couponID)
	return []int64{max(0, l.Unsold-waiting)}, err
}

// designStatus shows the requests that a design has acknowledged and not committed as holds.
type designStatus struct{ saleStatus }

// Ledger adds the units apart from the coupon's row. A unit that comes back can be bought at once.
func (s designStatus) Ledger(ctx context.Context, couponID int64) (api.Ledger, error) {
	l, err := s.saleStatus.Ledger(ctx, couponID)
	if err != nil {
		return l, err
	}
	units, err := s.design.Units(ctx, couponID)
	l.Unsold, l.Returning = l.Unsold+units, 0
	return l, err
}

// LiveStats reads the requests without a row.
func (s designStatus) LiveStats(ctx context.Context, c coupon.Coupon) (api.LiveStats, error) {
	waiting, err := s.design.Waiting(ctx, c.ID)
	if err != nil {
		return api.LiveStats{}, err
	}
	return api.LiveStats{Holds: []int64{waiting}, Lent: []int64{0}}, nil
}
