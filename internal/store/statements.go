package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm"

	"example.com/seckill/internal/order"
)

// groupTx is what placeAlone does, for many orders at once, in one round trip or two: each step is one
// statement, or two, however many coupons they buy, and those of a trip are sent
// together (rows.go). Rows are touched in the order of their keys, so that the
// transactions of several instances wait for each other and do not deadlock.
//
// A trip sets the outcome of the members that it refuses. An error of its own is the
// whole transaction's.
type groupTx struct {
	conn    gorm.ConnPool
	dialect dialect
}

// checkFencesAndSlots raises the fences, finds whose was larger, and gives each order the
// lowest slot that is free.
func (t groupTx) checkFencesAndSlots(ctx context.Context, group []*order.Attempt) error {
	seen, used := make(map[int64]uint64, len(group)), map[slotKey][]int{}
	slices.SortFunc(group, func(a, b *order.Attempt) int { return cmp.Compare(a.Order.UserID, b.Order.UserID) })
	if err := t.execBatch(ctx, slices.Concat(t.upsertFences(group, seen), t.loadSlots(group, used))...); err != nil {
		return fmt.Errorf("fences and slots: %w", err)
	}
	for _, m := range group {
		o := &m.Order
		if seen[o.UserID] > o.Fence { // it knows nothing of slots, so this is its answer
			m.Err = &order.StaleFenceError{Given: o.Fence, Seen: seen[o.UserID]}
			continue
		}
		o.Slot, m.Err = freeSlot(used[slotKey{o.CouponID, o.UserID}], m.Sale.LimitPerUser)
	}
	return nil
}

// writeOrders inserts the orders and lowers the stocks, which are the hot rows and so come
// last. If a unique index refuses the orders, as a whole, halves of them tell whose it
// was, and the stocks are lowered for the others.
func (t groupTx) writeOrders(ctx context.Context, group []*order.Attempt) error {
	slices.SortFunc(group, func(a, b *order.Attempt) int { return cmp.Compare(a.Order.ID, b.Order.ID) })
	lots := demandsOf(group)
	var lowered int
	err := t.execBatch(ctx, slices.Concat(t.insertOrders(group), t.takeStock(lots, &lowered))...)
	if isDuplicate(err) {
		if err = t.insertByHalves(ctx, group, err); err == nil {
			lots = demandsOf(unrefused(group))
			err = t.execBatch(ctx, t.takeStock(lots, &lowered)...)
		}
	}
	switch {
	case err != nil:
		return fmt.Errorf("write %d orders of %d coupons: %w", len(group), len(lots), err)
	case lowered < len(lots):
		return errStockRefused
	}
	return nil
}

// errLook: a fence or a unique index refused rows that were written without a look.
var errLook = errors.New("store: what was written without a look was refused")

// writeAtOnce writes fences, orders and units of users who may have one slot each, so that it is
// known which. There is nothing to read: a smaller fence than the user's fails, and so does
// a slot, a request or an id that is taken. Nothing of the group can be committed then.
func (t groupTx) writeAtOnce(ctx context.Context, group []*order.Attempt) error {
	slices.SortFunc(group, func(a, b *order.Attempt) int { return cmp.Compare(a.Order.UserID, b.Order.UserID) })
	fences := []statement{t.writeFences(group, raiseFenceSQL)}
	slices.SortFunc(group, func(a, b *order.Attempt) int { return cmp.Compare(a.Order.ID, b.Order.ID) })
	for _, m := range group {
		m.Order.Slot = 1
	}
	lots := demandsOf(group)
	var lowered int
	err := t.execBatch(ctx, slices.Concat(fences, t.insertOrders(group), t.takeStock(lots, &lowered))...)
	switch {
	case isDuplicate(err), isSmallerFence(err):
		return fmt.Errorf("%w: %w", errLook, err)
	case err != nil:
		return fmt.Errorf("write %d orders of %d coupons at once: %w", len(group), len(lots), err)
	case lowered < len(lots):
		return errStockRefused
	}
	return nil
}

// raiseFenceSQL raises fences, and fails if one of them was larger: on MySQL, whatever its
// mode, because the sum cannot be counted, and on SQLite because there is no fence
// without a number.
var raiseFenceSQL = map[dialect]string{
	mysqlDialect:  " ON DUPLICATE KEY UPDATE fence = IF(VALUES(fence) < fence, fence + ~0, VALUES(fence))",
	sqliteDialect: " ON CONFLICT (user_id) DO UPDATE SET fence = CASE WHEN excluded.fence >= fence THEN excluded.fence END",
}

// upsertFenceSQL raises fences, and leaves a larger one as it is.
var upsertFenceSQL = map[dialect]string{
	mysqlDialect:  " ON DUPLICATE KEY UPDATE fence = GREATEST(fence, VALUES(fence))",
	sqliteDialect: " ON CONFLICT (user_id) DO UPDATE SET fence = MAX(fence, excluded.fence)",
}

// upsertFences raises every user's fence and reads into seen what there is then. From
// there on the rows are locked: a later holder of a user's lock waits for this
// transaction.
func (t groupTx) upsertFences(in []*order.Attempt, seen map[int64]uint64) []statement {
	users := make([]any, 0, len(in))
	for _, m := range in {
		users = append(users, m.Order.UserID)
	}
	var user int64
	var fence uint64
	return []statement{
		t.writeFences(in, upsertFenceSQL),
		{
			sql: "SELECT user_id, fence FROM fences WHERE user_id IN " + placeholders(1, len(in)), args: users,
			dest: []any{&user, &fence}, onRow: func() { seen[user] = fence },
		},
	}
}

// writeFences writes every user's fence; onConflict says what the database does with an older fence.
func (t groupTx) writeFences(in []*order.Attempt, onConflict map[dialect]string) statement {
	rows := make([]any, 0, 2*len(in))
	for _, m := range in {
		rows = append(rows, m.Order.UserID, m.Order.Fence)
	}
	return statement{sql: "INSERT INTO fences (user_id, fence) VALUES " + placeholders(len(in), 2) + onConflict[t.dialect], args: rows}
}

// slotJoinSQL joins the wanted pairs, as w, with the orders, as o, in that direction: each
// pair is one look into the unique index, even with wrong statistics. A list of pairs
// behind IN costs the planner of MariaDB several times as much as the looks.
var slotJoinSQL = map[dialect]string{
	mysqlDialect:  " STRAIGHT_JOIN orders AS o FORCE INDEX (orders_slot)",
	sqliteDialect: " CROSS JOIN orders AS o",
}

// usedSlotsSQL reads the slots in use of some users, each of one coupon: pairs of
// parameters. Of a single user it says in which partition to look; the looks of the
// others find theirs one by one.
func usedSlotsSQL(d dialect, users int) string {
	if users == 1 {
		return "SELECT coupon_id, user_id, slot FROM orders WHERE coupon_id = ? AND user_id = ? AND slot IS NOT NULL"
	}
	return "SELECT o.coupon_id, o.user_id, o.slot FROM " + valuesTable(d, users, 2) + slotJoinSQL[d] +
		" ON o.coupon_id = w.column1 AND o.user_id = w.column2 WHERE o.slot IS NOT NULL"
}

// slotKey is whose slots of what.
type slotKey struct{ coupon, user int64 }

// loadSlots reads into used the slots that live orders of the users have.
func (t groupTx) loadSlots(in []*order.Attempt, used map[slotKey][]int) []statement {
	args := make([]any, 0, 2*len(in))
	for _, m := range in {
		args = append(args, m.Order.CouponID, m.Order.UserID)
	}
	var of slotKey
	var slot int
	return []statement{{
		sql: usedSlotsSQL(t.dialect, len(in)), args: args,
		dest: []any{&of.coupon, &of.user, &slot}, onRow: func() { used[of] = append(used[of], slot) },
	}}
}

// insertByHalves inserts the orders that were refused together, one half after the other, and
// so on, until it is known whose refusal it was.
func (t groupTx) insertByHalves(ctx context.Context, refused []*order.Attempt, because error) error {
	if len(refused) == 1 {
		refused[0].Err = insertError(because, refused[0].Order)
		return nil
	}
	half := len(refused) / 2
	for _, in := range [][]*order.Attempt{refused[:half], refused[half:]} {
		err := t.execBatch(ctx, t.insertOrders(in)...)
		if isDuplicate(err) {
			err = t.insertByHalves(ctx, in, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// orderColumns are all of orders, in the order of an insert.
const orderColumns = "id, coupon_id, user_id, slot, status, price_cents, request_id, shard, fence, created_at, expires_at"

func (t groupTx) insertOrders(in []*order.Attempt) []statement {
	args := make([]any, 0, 11*len(in))
	for _, m := range in {
		r := rowOfOrder(m.Order)
		args = append(args, r.ID, r.CouponID, r.UserID, r.Slot, string(r.Status), r.PriceCents, r.RequestID, r.Shard, r.Fence,
			r.CreatedAt, r.ExpiresAt)
	}
	return []statement{{sql: "INSERT INTO orders (" + orderColumns + ") VALUES " + placeholders(len(in), 11), args: args}}
}

// placeholders are n parentheses of parameters.
func placeholders(n, params int) string {
	one := "(" + strings.Repeat("?,", params-1) + "?)"
	return strings.Repeat(one+",", n-1) + one
}

// valuesTable is a table of n rows of parameters, w (column1, column2, …): the names that a
// list of VALUES has in SQLite. MySQL and MariaDB write such a list differently.
func valuesTable(d dialect, n, params int) string {
	if d == sqliteDialect {
		return "(VALUES " + placeholders(n, params) + ") AS w"
	}
	one := " UNION ALL SELECT " + strings.Repeat("?, ", params-1) + "?"
	first := make([]string, params)
	for i := range first {
		first[i] = fmt.Sprintf("? AS column%d", i+1)
	}
	return "(SELECT " + strings.Join(first, ", ") + strings.Repeat(one, n-1) + ") AS w"
}
