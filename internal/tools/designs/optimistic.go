package designs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// optimistic compares a version, and starts again if another request has changed it.
//
// Right: a request reads stock and version, and writes only if the version is still the same. A request that loses
// reads again. No lock is held while the program decides. The unique key (coupon, user, slot) rejects a second order of
// the user.
//
// Its cost is the retries. In a flash sale all requests want the same row, so of many that read one version only one
// wins. Hibernate's manual recommends the version for data that is read often and written seldom, which a hot coupon is
// not. A pause with jitter before each retry, and a bound on the retries, keep the losers from filling the database.
//
// The version stands in a table of its own, because the sale's table has none. One statement changes both rows on
// MySQL. The experiments optimistic-watch and compare-and-set-aba of the lab show the retries, and why the stock itself
// is not a version.
var optimistic = Design{
	Name: "optimistic", Experiment: "optimistic-watch",
	Source: "https://docs.jboss.org/hibernate/orm/5.0/userguide/html_single/chapters/locking/Locking.html",
	make:   func(s *stores) maker { return optimisticMaker{s} },
}

type optimisticMaker struct{ *stores }

// errStale: another request has changed the version.
var errStale = errors.New("designs: the version has changed")

const (
	optimisticTries = 200
	optimisticPause = 4 * time.Millisecond // before a retry, at most
)

// Start creates the table of the versions.
func (m optimisticMaker) Start(ctx context.Context) error {
	_, err := m.DB.ExecContext(ctx,
		"CREATE TABLE IF NOT EXISTS design_versions (coupon_id BIGINT NOT NULL PRIMARY KEY, version BIGINT NOT NULL)")
	if err != nil {
		return fmt.Errorf("create the table of the versions: %w", err)
	}
	return nil
}

// Prepare inserts the first version of the coupon.
func (m optimisticMaker) Prepare(ctx context.Context, couponID int64) error {
	_, err := m.DB.ExecContext(ctx, "INSERT INTO design_versions (coupon_id, version) VALUES (?, 0)", couponID)
	if err != nil && !isDuplicate(err) {
		return fmt.Errorf("write the first version: %w", err)
	}
	return nil
}

// Make reads, decides and writes until no other request came between.
func (m optimisticMaker) Make(ctx context.Context, sale coupon.Coupon, o order.Order) error {
	for range optimisticTries {
		var stock, version int64
		err := m.DB.QueryRowContext(ctx,
			"SELECT c.stock, v.version FROM coupons AS c JOIN design_versions AS v ON v.coupon_id = c.id WHERE c.id = ?", sale.ID).
			Scan(&stock, &version)
		if err != nil {
			return fmt.Errorf("read the stock and the version: %w", err)
		}
		if stock <= 0 {
			return coupon.ErrSoldOut
		}
		err = m.inTx(ctx, func(tx *sql.Tx) error {
			if err := m.write(ctx, tx, sale.ID, version); err != nil {
				return err
			}
			return insertNext(ctx, tx, sale, o)
		})
		if !errors.Is(err, errStale) {
			return err
		}
		if err := rest(ctx, rand.N(optimisticPause)); err != nil { //nolint:gosec // jitter
			return err
		}
	}
	return order.ErrOverloaded
}

// write lowers the stock and raises the version, if the version is the one that was read. It comes first in the
// transaction, so that a request that loses has done nothing else.
func (m optimisticMaker) write(ctx context.Context, tx *sql.Tx, couponID, version int64) error {
	if !m.Embedded {
		return changeOne(ctx, tx, errStale, "UPDATE coupons AS c JOIN design_versions AS v ON v.coupon_id = c.id "+
			"SET c.stock = c.stock - 1, v.version = v.version + 1 WHERE c.id = ? AND v.version = ?", couponID, version)
	}
	err := changeOne(ctx, tx, errStale, "UPDATE design_versions SET version = version + 1 WHERE coupon_id = ? AND version = ?",
		couponID, version)
	if err != nil {
		return err
	}
	return takeUnit(ctx, tx, couponID)
}
