package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// errStockRefused means that the row of a coupon has too few units, or another epoch. The statement
// has lowered the other rows, so the transaction cannot be committed.
var errStockRefused = errors.New("store: a coupon's row refused")

// stockKey is where units come from: a coupon, in one epoch of its stock.
type stockKey struct{ coupon, epoch int64 }

func stockKeyOf(a *order.Attempt) stockKey { return stockKey{a.Order.CouponID, a.Sale.Epoch} }

// demand is a number of units that a transaction takes from, or gives back to, a coupon's row.
type demand struct {
	stockKey
	units int
}

// updateStockSQL changes the stock of the coupons, as c, of w (coupon, epoch, units), where a
// condition holds. Check and write are one statement, so no reader can come between them and no
// stock can go below zero. The rows are locked one by one in the order of w, and others are not
// waited for.
var updateStockSQL = map[dialect]func(w, set, where string) string{
	mysqlDialect: func(w, set, where string) string {
		return "UPDATE " + w + " STRAIGHT_JOIN coupons AS c FORCE INDEX (PRIMARY) ON c.id = w.column1" +
			" SET c.stock = " + set + " WHERE " + where
	},
	sqliteDialect: func(w, set, where string) string {
		return "UPDATE coupons AS c SET stock = " + set + " FROM " + w + " WHERE c.id = w.column1 AND " + where
	},
}

const (
	minusUnits, enoughLeft = "c.stock - w.column3", "c.epoch = w.column2 AND c.stock >= w.column3"
	plusUnits, sameEpoch   = "c.stock + w.column3", "c.epoch = w.column2"
)

// rowCountSQL reads how many rows the statement before it has changed.
var rowCountSQL = map[dialect]string{
	mysqlDialect:  "SELECT ROW_COUNT()",
	sqliteDialect: "SELECT changes()",
}

// demandsOf counts the units that the attempts need of each row.
func demandsOf(in []*order.Attempt) []demand {
	units := map[stockKey]int{}
	for _, m := range in {
		units[stockKeyOf(m)]++
	}
	return sortedDemands(units)
}

// sortedDemands returns the demands in the order in which their rows are to be locked.
func sortedDemands(units map[stockKey]int) []demand {
	lots := make([]demand, 0, len(units))
	for l, n := range units {
		lots = append(lots, demand{l, n})
	}
	slices.SortFunc(lots, func(a, b demand) int {
		return cmp.Or(cmp.Compare(a.coupon, b.coupon), cmp.Compare(a.epoch, b.epoch))
	})
	return lots
}

// updateStock returns the statement that changes the stock of some coupons where a condition holds.
func updateStock(d dialect, lots []demand, set, where string) statement {
	args := make([]any, 0, 3*len(lots))
	for _, l := range lots {
		args = append(args, l.coupon, l.epoch, l.units)
	}
	return statement{sql: updateStockSQL[d](valuesTable(d, len(lots), 3), set, where), args: args}
}

// takeStock lowers each coupon's stock by its demand, if the coupon has enough units, and counts
// the rows that it has lowered. For no demand there is no statement.
func (t groupTx) takeStock(lots []demand, lowered *int) []statement {
	*lowered = 0
	if len(lots) == 0 {
		return nil
	}
	var n int
	return []statement{
		updateStock(t.dialect, lots, minusUnits, enoughLeft),
		{sql: rowCountSQL[t.dialect], dest: []any{&n}, onRow: func() { *lowered = n }},
	}
}

// assignRefusals sets the error of attempts whose coupon's row refuses them. These are all attempts
// of a coupon that is missing or has another epoch, and the latest attempts of a coupon that has
// too few units. It reads after the rollback, because in the transaction it would not see which
// stocks were lowered. The error says how to go on with the others.
func (c *Committer) assignRefusals(ctx context.Context, in []*order.Attempt) error {
	ctx, cancel := context.WithTimeout(ctx, c.store.txTimeout)
	defer cancel()
	ids := make([]int64, 0, len(in))
	for _, m := range in {
		ids = append(ids, m.Order.CouponID)
	}
	slices.Sort(ids)
	rows, err := c.store.Coupons().coupons(c.store.write.WithContext(ctx).Where("id IN ?", slices.Compact(ids)))
	if err != nil {
		return classify(fmt.Errorf("why a coupon refused: %w", err))
	}
	found := map[int64]*coupon.Coupon{}
	for i := range rows {
		found[rows[i].ID] = &rows[i]
	}
	left := func(m *order.Attempt) error {
		now := found[m.Order.CouponID]
		switch {
		case now == nil:
			return coupon.ErrNotFound
		case now.Epoch != m.Sale.Epoch:
			return order.ErrStaleEpoch
		case now.Left <= 0:
			return coupon.ErrSoldOut
		}
		now.Left--
		return nil
	}
	err = fmt.Errorf("%w: units came back just now", errRetry)
	for _, m := range in {
		if m.Err = left(m); m.Err != nil {
			err = errRefused
		}
	}
	return err
}
