package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"seckill/internal/coupon"
	"seckill/internal/order"
)

// errShort: the row of a coupon refused what is wanted of it. The statement that found
// out has lowered the others, so the transaction cannot be committed.
var errShort = errors.New("store: a coupon's row refused")

// lot is where units come from: a coupon, in one epoch of its stock.
type lot struct{ coupon, epoch int64 }

// wanted is what a group wants of a lot.
type wanted struct {
	lot
	units int
}

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

// changed reads how many rows the statement before it has changed.
var changed = map[dialect]string{
	mysqlDialect:  "SELECT ROW_COUNT()",
	sqliteDialect: "SELECT changes()",
}

// lotsOf says what the members want of each coupon, in the order of the coupons.
func lotsOf(in []*member) []wanted {
	units := map[lot]int{}
	for _, m := range in {
		units[lot{m.from, m.epoch}]++
	}
	lots := make([]wanted, 0, len(units))
	for l, n := range units {
		lots = append(lots, wanted{l, n})
	}
	slices.SortFunc(lots, func(a, b wanted) int {
		return cmp.Or(cmp.Compare(a.coupon, b.coupon), cmp.Compare(a.epoch, b.epoch))
	})
	return lots
}

// take lowers each coupon's stock by as many as are taken of it, where there are so
// many, and reads how many rows it has lowered.
func (t groupTx) take(lots []wanted, lowered *int) []statement {
	if len(lots) == 0 {
		return nil
	}
	args := make([]any, 0, 3*len(lots))
	for _, l := range lots {
		args = append(args, l.coupon, l.epoch, l.units)
	}
	return []statement{
		{text: lower[t.dialect](given(t.dialect, len(lots), 3)), args: args},
		{text: changed[t.dialect], row: []any{lowered}, each: func() {}},
	}
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
