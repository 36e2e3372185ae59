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

// errStockRefused: the row of a coupon refused what is wanted of it. The statement that found
// out has lowered the others, so the transaction cannot be committed.
var errStockRefused = errors.New("store: a coupon's row refused")

// stockKey is where units come from: a coupon, in one epoch of its stock, or one shard of it.
type stockKey struct {
	coupon, epoch int64
	shard         int // oneRow: the coupon's own row has them
}

const oneRow = -1

func stockKeyOf(p order.Placement) stockKey {
	key := stockKey{p.Order.CouponID, p.Epoch, oneRow}
	if p.StockRows > 0 {
		key.shard = p.Order.Shard
	}
	return key
}

// demand is what a group wants of a row.
type demand struct {
	stockKey
	units int
}

// A stockTable is where stock is kept, and how its rows, as c, are those of w (coupon, epoch,
// units, shard).
type stockTable struct{ name, on string }

var (
	couponTable   = stockTable{"coupons", "c.id = w.column1"}
	stockRowTable = stockTable{"coupon_stock", "c.coupon_id = w.column1 AND c.shard = w.column4"}
)

// updateStockSQL changes the stock of the rows of w in a table, where a condition holds. Check
// and write are one statement, so no reader can come between them and no stock can go
// below zero. The rows are locked one by one in the order of w, and others are not waited for.
var updateStockSQL = map[dialect]func(t stockTable, w, set, where string) string{
	mysqlDialect: func(t stockTable, w, set, where string) string {
		return "UPDATE " + w + " STRAIGHT_JOIN " + t.name + " AS c FORCE INDEX (PRIMARY) ON " + t.on +
			" SET c.stock = " + set + " WHERE " + where
	},
	sqliteDialect: func(t stockTable, w, set, where string) string {
		return "UPDATE " + t.name + " AS c SET stock = " + set + " FROM " + w + " WHERE " + t.on + " AND " + where
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

// demandsOf says what the members want of each row.
func demandsOf(in []*commitRequest) []demand {
	units := map[stockKey]int{}
	for _, m := range in {
		units[stockKeyOf(m.Placement)]++
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
		return cmp.Or(cmp.Compare(a.coupon, b.coupon), cmp.Compare(a.epoch, b.epoch), cmp.Compare(a.shard, b.shard))
	})
	return lots
}

// updateStock returns the statements, one a table, that change the stock of some rows where a condition
// holds.
func updateStock(d dialect, lots []demand, set, where string) []statement {
	var all []statement
	for _, table := range []stockTable{couponTable, stockRowTable} {
		var args []any
		for _, l := range lots {
			if (l.shard == oneRow) == (table == couponTable) {
				args = append(args, l.coupon, l.epoch, l.units, l.shard)
			}
		}
		if len(args) > 0 {
			all = append(all, statement{sql: updateStockSQL[d](table, valuesTable(d, len(args)/4, 4), set, where), args: args})
		}
	}
	return all
}

// takeStock lowers each row's stock by as many as are taken of it, where there are so
// many, and counts the rows that it has lowered.
func (t groupTx) takeStock(lots []demand, lowered *int) []statement {
	*lowered = 0
	var all []statement
	for _, s := range updateStock(t.dialect, lots, minusUnits, enoughLeft) {
		n := new(int)
		all = append(all, s, statement{sql: rowCountSQL[t.dialect], dest: []any{n}, onRow: func() { *lowered += *n }})
	}
	return all
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
	units, err := g.store.stockOf(ctx, rows)
	if err != nil {
		return err
	}
	left := func(m *commitRequest) error {
		key := stockKeyOf(m.Placement)
		switch c, known := found[key.coupon]; {
		case !known:
			return coupon.ErrNotFound
		case c.Epoch != m.Epoch:
			return order.ErrStaleEpoch
		case units[key] <= 0:
			return coupon.ErrSoldOut
		}
		units[key]--
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

// stockOf reads what each row of some coupons has.
func (s *Store) stockOf(ctx context.Context, coupons []coupon.Coupon) (map[stockKey]int64, error) {
	units := map[stockKey]int64{}
	var split []int64
	for _, c := range coupons {
		if c.StockRows > 0 {
			split = append(split, c.ID)
			continue
		}
		units[stockKey{c.ID, c.Epoch, oneRow}] = c.Left
	}
	if len(split) == 0 {
		return units, nil
	}
	var rows []stockRow
	if err := s.write.WithContext(ctx).Where("coupon_id IN ?", split).Find(&rows).Error; err != nil {
		return nil, classify(fmt.Errorf("why a coupon's shard refused: %w", err))
	}
	for _, r := range rows {
		units[stockKey{r.CouponID, r.Epoch, r.Shard}] = r.Stock
	}
	return units, nil
}
