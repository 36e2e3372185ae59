package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"seckill/internal/coupon"
	"seckill/internal/order"
)

// errShort: the row of a coupon refused what is wanted of it. The statement that found
// out has lowered the others, so the transaction cannot be committed.
var errShort = errors.New("store: a coupon's row refused")

// lot is what a group wants of one coupon: units of an epoch.
type lot struct{ coupon, epoch int64 }

// lower takes from each coupon what is wanted of it, w (coupon, epoch, units). Check
// and write are one statement, so no reader can come between them and no stock can go
// below zero. The rows are locked one by one in the order of w, and those of other
// coupons are not waited for.
var lower = map[dialect]func(w string) string{
	mysqlDialect: func(w string) string {
		return "UPDATE " + w + " STRAIGHT_JOIN coupons AS c FORCE INDEX (PRIMARY) ON c.id = w.column1" +
			" SET c.stock = c.stock - w.column3 WHERE c.epoch = w.column2 AND c.stock >= w.column3"
	},
	sqliteDialect: func(w string) string {
		return "UPDATE coupons AS c SET stock = c.stock - w.column3 FROM " + w +
			" WHERE c.id = w.column1 AND c.epoch = w.column2 AND c.stock >= w.column3"
	},
}

// take lowers each coupon's stock by as many as are taken of it, or is errShort.
func (t groupTx) take(ctx context.Context, in []*member) error {
	if len(in) == 0 {
		return nil
	}
	units := map[lot]int{}
	for _, m := range in {
		units[lot{m.from, m.epoch}]++
	}
	lots := slices.SortedFunc(maps.Keys(units), func(a, b lot) int {
		return cmp.Or(cmp.Compare(a.coupon, b.coupon), cmp.Compare(a.epoch, b.epoch))
	})
	args := make([]any, 0, 3*len(lots))
	for _, l := range lots {
		args = append(args, l.coupon, l.epoch, units[l])
	}
	done, err := t.conn.ExecContext(ctx, lower[t.dialect](given(t.dialect, len(lots), 3)), args...)
	if err != nil {
		return fmt.Errorf("take %d of %d coupons: %w", len(in), len(lots), err)
	}
	switch rows, err := done.RowsAffected(); {
	case err != nil:
		return fmt.Errorf("take %d of %d coupons: %w", len(in), len(lots), err)
	case rows < int64(len(lots)):
		return errShort
	}
	return nil
}

// refuse tells those who want what their coupon's row does not give: all of a coupon
// that is not there or has another epoch, and of one that has too few units those who
// came last. It reads after the rollback, because in the transaction it would not see
// which stocks were lowered. The error says what to do with the others.
func (g *Group) refuse(in []*member) error {
	ctx, cancel := context.WithTimeout(context.Background(), g.store.txTimeout)
	defer cancel()
	ids := make([]int64, 0, len(in))
	for _, m := range in {
		ids = append(ids, m.from)
	}
	slices.Sort(ids)
	rows, err := g.store.Coupons().coupons(g.store.write.WithContext(ctx).Where("id IN ?", slices.Compact(ids)))
	if err != nil {
		return classify(fmt.Errorf("why a coupon refused: %w", err))
	}
	found := map[int64]coupon.Coupon{}
	for _, c := range rows {
		found[c.ID] = c
	}
	left := func(m *member) error {
		c, known := found[m.from]
		switch {
		case !known:
			return coupon.ErrNotFound
		case c.Epoch != m.epoch:
			return order.ErrStaleEpoch
		case c.Left <= 0:
			return coupon.ErrSoldOut
		}
		c.Left--
		found[m.from] = c
		return nil
	}
	err = fmt.Errorf("%w: units came back just now", errAgain)
	for _, m := range slices.SortedStableFunc(slices.Values(in), func(a, b *member) int { return a.since.Compare(b.since) }) {
		if m.outcome = left(m); m.outcome != nil {
			err = errRefused
		}
	}
	return err
}
