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

// errStockRefused: the row of a coupon refused what is wanted of it. The statement that found
// out has lowered the others, so the transaction cannot be committed.
var errStockRefused = errors.New("store: a coupon's row refused")

// stockKey is where units come from: a coupon, in one epoch of its stock.
type stockKey struct{ coupon, epoch int64 }

// demand is what a group wants of a lot.
type demand struct {
	stockKey
	units int
}

// takeStockSQL takes from each coupon what is wanted of it, w (coupon, epoch, units). Check
// and write are one statement, so no reader can come between them and no stock can go
// below zero. The rows are locked one by one in the order of w, and those of other
// coupons are not waited for.
var takeStockSQL = map[dialect]func(w string) string{
	mysqlDialect: func(w string) string {
		return "UPDATE " + w + " STRAIGHT_JOIN coupons AS c FORCE INDEX (PRIMARY) ON c.id = w.column1" +
			" SET c.stock = c.stock - w.column3 WHERE c.epoch = w.column2 AND c.stock >= w.column3"
	},
	sqliteDialect: func(w string) string {
		return "UPDATE coupons AS c SET stock = c.stock - w.column3 FROM " + w +
			" WHERE c.id = w.column1 AND c.epoch = w.column2 AND c.stock >= w.column3"
	},
}

// rowCountSQL reads how many rows the statement before it has changed.
var rowCountSQL = map[dialect]string{
	mysqlDialect:  "SELECT ROW_COUNT()",
	sqliteDialect: "SELECT changes()",
}

// demandsOf says what the members want of each coupon, in the order of the coupons.
func demandsOf(in []*commitRequest) []demand {
	units := map[stockKey]int{}
	for _, m := range in {
		units[stockKey{m.Order.CouponID, m.Epoch}]++
	}
	lots := make([]demand, 0, len(units))
	for l, n := range units {
		lots = append(lots, demand{l, n})
	}
	slices.SortFunc(lots, func(a, b demand) int {
		return cmp.Or(cmp.Compare(a.coupon, b.coupon), cmp.Compare(a.epoch, b.epoch))
	})
	return lots
}

// takeStock lowers each coupon's stock by as many as are taken of it, where there are so
// many, and reads how many rows it has lowered.
func (t groupTx) takeStock(lots []demand, lowered *int) []statement {
	if len(lots) == 0 {
		return nil
	}
	args := make([]any, 0, 3*len(lots))
	for _, l := range lots {
		args = append(args, l.coupon, l.epoch, l.units)
	}
	return []statement{
		{sql: takeStockSQL[t.dialect](valuesTable(t.dialect, len(lots), 3)), args: args},
		{sql: rowCountSQL[t.dialect], dest: []any{lowered}, onRow: func() {}},
	}
}

// assignRefusals sets the outcome of requests whose coupon's row refuses them: all requests
// of a coupon that is missing or has another epoch, and the latest of one that has too few
// units. It reads after the rollback, because in the transaction it would not see which
// stocks were lowered. The error says what to do with the others.
func (g *GroupCommitter) assignRefusals(in []*commitRequest) error {
	ctx, cancel := context.WithTimeout(context.Background(), g.store.txTimeout)
	defer cancel()
	ids := make([]int64, 0, len(in))
	for _, m := range in {
		ids = append(ids, m.Order.CouponID)
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
	left := func(m *commitRequest) error {
		c, known := found[m.Order.CouponID]
		switch {
		case !known:
			return coupon.ErrNotFound
		case c.Epoch != m.Epoch:
			return order.ErrStaleEpoch
		case c.Left <= 0:
			return coupon.ErrSoldOut
		}
		c.Left--
		found[m.Order.CouponID] = c
		return nil
	}
	err = fmt.Errorf("%w: units came back just now", errRetry)
	for _, m := range slices.SortedStableFunc(slices.Values(in), func(a, b *commitRequest) int { return a.enqueuedAt.Compare(b.enqueuedAt) }) {
		if m.outcome = left(m); m.outcome != nil {
			err = errRefused
		}
	}
	return err
}
