// Package designs holds other ways to make the orders of a sale, right ones and wrong ones. Each of them replaces
// the order service in the same program, so the same API, page, load generator and audit judge it:
//
//	seckill serve --design NAME ─▶ app ─▶ shop ─▶ maker ─▶ stores
//
// Each maker is one file that reads from top to bottom. The other files have the shared parts. The name seckill is the
// program's own order path, which this package does not contain.
//
// The wrong designs are wrong on purpose. They need the variable SECKILL_ALLOW_WRONG_DESIGN=1, which no file can set.
package designs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"example.com/seckill/internal/app"
	"example.com/seckill/internal/config"
	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// Own is the name of the program's own order path.
const Own = "seckill"

// Design describes one way to make orders.
type Design struct {
	Name       string
	Violates   string // the invariant of the audit that a wrong design violates; "" for a right one
	Experiment string // of the lab, which shows the fault or the cost
	Source     string // the address of a page that shows or recommends it
	Servers    string // why it needs real servers; "" if the embedded stores show it

	make func(s *stores) maker
}

// Wrong reports whether the design breaks a promise of the sale without any fault from outside.
func (d Design) Wrong() bool { return d.Violates != "" }

// maker makes orders. It is all that the designs differ in.
type maker interface {
	// Make takes a unit for an order and inserts the order, or returns coupon.ErrSoldOut, order.ErrLimitReached,
	// order.ErrDuplicate or order.ErrBusy.
	Make(ctx context.Context, sale coupon.Coupon, o order.Order) error
}

// The optional methods of a maker. A maker that creates tables does so in Start.
type (
	starter interface {
		Start(ctx context.Context) error
	}
	preparer interface {
		Prepare(ctx context.Context, couponID int64) error // before a coupon goes on sale
	}
	unitKeeper interface {
		Units(ctx context.Context, couponID int64) (int64, error) // that the coupon's row does not count
	}
	acknowledger interface { // answers before the commit
		Waiting(ctx context.Context, couponID int64) (int64, error)
		Accepted(ctx context.Context, field string, userID int64) (order.Order, error)
		Close(ctx context.Context) error
	}
)

// All returns the designs, the wrong ones first.
func All() []Design {
	return []Design{
		naive, lockInsideTransaction, unlockInDefer, expiredLease,
		forUpdate, optimistic, conditionalUpdate, skipLocked, decrThenQueue,
	}
}

// Names returns the names of all designs, the program's own order path first.
func Names() []string {
	names := []string{Own}
	for _, d := range All() {
		names = append(names, d.Name)
	}
	return names
}

// Find returns the design with that name.
func Find(name string) (Design, error) {
	for _, d := range All() {
		if d.Name == name {
			return d, nil
		}
	}
	return Design{}, app.Usage(fmt.Errorf("--design: %q is none of %s", name, strings.Join(Names(), ", ")))
}

// New returns the function with which the program opens the design of that name. For Own and "" it only checks that no
// other design has made the orders of the database. allowWrong permits a wrong design.
func New(name string, allowWrong bool) (app.NewDesign, error) {
	if name == "" || name == Own {
		return func(ctx context.Context, d app.DesignDeps) (app.Design, error) { return nil, claim(ctx, d, Own) }, nil
	}
	design, err := Find(name)
	if err != nil {
		return nil, err
	}
	if design.Wrong() && !allowWrong {
		return nil, app.Usage(fmt.Errorf("--design %s is wrong on purpose: it sells units twice or to one user twice; "+
			"set %s=1 if no real order can reach these stores", name, config.WrongDesignVariable))
	}
	return func(ctx context.Context, d app.DesignDeps) (app.Design, error) {
		if d.Embedded && design.Servers != "" {
			return nil, app.Usage(fmt.Errorf("--design %s needs real servers: %s; set mysql.dsn and redis.addrs", name, design.Servers))
		}
		if err := claim(ctx, d, name); err != nil {
			return nil, err
		}
		s := newShop(d, design)
		if m, is := s.maker.(starter); is {
			if err := m.Start(ctx); err != nil {
				return nil, fmt.Errorf("start the design %s: %w", name, err)
			}
		}
		return s, nil
	}, nil
}

// claim notes which design makes the orders of the database. It returns an error if another design has made some. A
// database without a note and with orders belongs to Own, which needs no note.
func claim(ctx context.Context, d app.DesignDeps, name string) error {
	var order, noted sql.NullString
	if err := d.DB.QueryRowContext(ctx, "SELECT MAX(id) FROM orders").Scan(&order); err != nil {
		return fmt.Errorf("look for orders of another design: %w", err)
	}
	err := d.DB.QueryRowContext(ctx, "SELECT MAX(name) FROM design_name").Scan(&noted)
	switch was := noted.String; {
	case err != nil && !isMissing(err):
		return fmt.Errorf("read the design of the database: %w", err)
	case was == "" && !order.Valid && name == Own, was == name, was == "" && name == Own:
		return nil
	case order.Valid:
		if was == "" {
			was = Own
		}
		return app.Usage(fmt.Errorf("the database holds orders of the design %s: "+
			"start with --design %s, or use an empty database", was, was))
	}
	for _, statement := range []string{
		"CREATE TABLE IF NOT EXISTS design_name (name VARCHAR(64) NOT NULL PRIMARY KEY)", "DELETE FROM design_name",
	} {
		if _, err := d.DB.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("note the design: %w", err)
		}
	}
	if name == Own {
		return nil
	}
	_, err = d.DB.ExecContext(ctx, "INSERT INTO design_name (name) VALUES (?)", name)
	if isDuplicate(err) { // another instance has just done so
		err = nil
	}
	return errors.Join(err)
}
