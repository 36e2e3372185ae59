package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm"

	"seckill/internal/order"
)

// groupTx is what tx is, for many at once: each step is one statement, or two, however
// many coupons they buy. Rows are touched in the order of their keys, so that the
// transactions of several instances wait for each other and do not deadlock.
//
// A step sets the outcome of the members whom it refuses. An error of its own is the
// whole transaction's.
type groupTx struct {
	conn    gorm.ConnPool
	dialect dialect
}

// raise is fence's statement, but for its rows.
var raise = map[dialect]string{
	mysqlDialect:  " ON DUPLICATE KEY UPDATE fence = GREATEST(fence, VALUES(fence))",
	sqliteDialect: " ON CONFLICT (user_id) DO UPDATE SET fence = MAX(fence, excluded.fence)",
}

// fence raises everybody's fence and looks whose was larger. From here on the rows
// are locked: a later holder of a user's lock waits for this transaction.
func (t groupTx) fence(ctx context.Context, in []*member) error {
	if len(in) == 0 {
		return nil
	}
	slices.SortFunc(in, func(a, b *member) int { return cmp.Compare(a.user, b.user) })
	rows, users := make([]any, 0, 2*len(in)), make([]any, 0, len(in))
	for _, m := range in {
		rows, users = append(rows, m.user, m.fence), append(users, m.user)
	}
	_, err := t.conn.ExecContext(ctx, "INSERT INTO fences (user_id, fence) VALUES "+tuples(len(in), 2)+raise[t.dialect], rows...)
	if err != nil {
		return fmt.Errorf("fences: %w", err)
	}
	seen := make(map[int64]uint64, len(in))
	var user int64
	var fence uint64
	err = t.read(ctx, func() { seen[user] = fence }, []any{&user, &fence},
		"SELECT user_id, fence FROM fences WHERE user_id IN "+tuples(1, len(in)), users...)
	if err != nil {
		return fmt.Errorf("fences: %w", err)
	}
	for _, m := range in {
		if seen[m.user] > m.fence {
			m.outcome = &order.StaleFenceError{Given: m.fence, Seen: seen[m.user]}
		}
	}
	return nil
}

// looks joins what is looked for, as w, with the orders, as o, in that direction: each
// pair is one look into the unique index, whatever the statistics say. A list of pairs
// behind IN costs the planner of MariaDB several times as much as the looks.
var looks = map[dialect]string{
	mysqlDialect:  " STRAIGHT_JOIN orders AS o FORCE INDEX (orders_slot)",
	sqliteDialect: " CROSS JOIN orders AS o",
}

// slotsQuery reads the slots in use of so many users, each of one coupon: pairs of
// parameters. Of a single user it says in which partition to look; the looks of the
// others find theirs one by one.
func slotsQuery(d dialect, users int) string {
	if users == 1 {
		return "SELECT coupon_id, user_id, slot FROM orders WHERE coupon_id = ? AND user_id = ? AND slot IS NOT NULL"
	}
	return "SELECT o.coupon_id, o.user_id, o.slot FROM " + given(d, users, 2) + looks[d] +
		" ON o.coupon_id = w.column1 AND o.user_id = w.column2 WHERE o.slot IS NOT NULL"
}

// slots finds for each the lowest slot that no live order of the user has.
func (t groupTx) slots(ctx context.Context, in []*member) error {
	if len(in) == 0 {
		return nil
	}
	type key struct{ coupon, user int64 }
	used := map[key][]int{}
	args := make([]any, 0, 2*len(in))
	for _, m := range in {
		args = append(args, m.coupon, m.user)
	}
	var of key
	var slot int
	err := t.read(ctx, func() { used[of] = append(used[of], slot) }, []any{&of.coupon, &of.user, &slot},
		slotsQuery(t.dialect, len(in)), args...)
	if err != nil {
		return fmt.Errorf("slots: %w", err)
	}
	for _, m := range in {
		free, err := freeSlot(used[key{m.coupon, m.user}], m.limit)
		switch {
		case err != nil:
			m.outcome = err
		case free != m.guess:
			m.outcome = &slotError{free}
		}
	}
	return nil
}

// insert writes the orders in one statement. If a unique index refuses it, as a
// whole, halves of it tell who it was.
func (t groupTx) insert(ctx context.Context, in []*member) error {
	slices.SortFunc(in, func(a, b *member) int { return cmp.Compare(a.order.ID, b.order.ID) })
	return t.halving(ctx, in)
}

func (t groupTx) halving(ctx context.Context, in []*member) error {
	if len(in) == 0 {
		return nil
	}
	err := t.insertAll(ctx, in)
	switch {
	case !duplicate(err):
		return wrap(err, "insert %d orders", len(in))
	case len(in) == 1:
		in[0].outcome = inserted(err, in[0].order)
		return nil
	}
	half := len(in) / 2
	if err := t.halving(ctx, in[:half]); err != nil {
		return err
	}
	return t.halving(ctx, in[half:])
}

func (t groupTx) insertAll(ctx context.Context, in []*member) error {
	const columns = "id, coupon_id, user_id, slot, status, price_cents, request_id, shard, fence, created_at, expires_at"
	args := make([]any, 0, 11*len(in))
	for _, m := range in {
		r := rowOfOrder(m.order)
		args = append(args, r.ID, r.CouponID, r.UserID, r.Slot, string(r.Status), r.PriceCents, r.RequestID, r.Shard, r.Fence,
			r.CreatedAt, r.ExpiresAt)
	}
	_, err := t.conn.ExecContext(ctx, "INSERT INTO orders ("+columns+") VALUES "+tuples(len(in), 11), args...)
	return err //nolint:wrapcheck // halving looks at it
}

// read runs a query, and each with every row in dest.
func (t groupTx) read(ctx context.Context, each func(), dest []any, query string, args ...any) error {
	rows, err := t.conn.QueryContext(ctx, query, args...)
	if err != nil {
		return err //nolint:wrapcheck // the caller says what for
	}
	defer rows.Close() //nolint:errcheck // Err tells
	for rows.Next() {
		if err := rows.Scan(dest...); err != nil {
			return err //nolint:wrapcheck // the same
		}
		each()
	}
	return rows.Err()
}

// tuples are n parentheses of so many parameters.
func tuples(n, params int) string {
	one := "(" + strings.Repeat("?,", params-1) + "?)"
	return strings.Repeat(one+",", n-1) + one
}

// given is a table of n rows of parameters, w (column1, column2, …): the names that a
// list of VALUES has in SQLite. MySQL and MariaDB write such a list differently.
func given(d dialect, n, params int) string {
	if d == sqliteDialect {
		return "(VALUES " + tuples(n, params) + ") AS w"
	}
	one := " UNION ALL SELECT " + strings.Repeat("?, ", params-1) + "?"
	first := make([]string, params)
	for i := range first {
		first[i] = fmt.Sprintf("? AS column%d", i+1)
	}
	return "(SELECT " + strings.Join(first, ", ") + strings.Repeat(one, n-1) + ") AS w"
}
