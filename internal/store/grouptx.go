package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm"

	"seckill/internal/coupon"
	"seckill/internal/order"
)

// groupTx is what tx is, for many at once: each step is one statement, or two. Rows
// are touched in the order of their keys, so that the transactions of several
// instances wait for each other and do not deadlock.
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

// slots finds for each the lowest slot that no live order of the user has.
func (t groupTx) slots(ctx context.Context, in []*member) error {
	type key struct{ coupon, user int64 }
	used := map[key][]int{}
	for id, of := range byCoupon(in, func(m *member) int64 { return m.coupon }) {
		args := []any{id}
		for _, m := range of {
			args = append(args, m.user)
		}
		var user int64
		var slot int
		err := t.read(ctx, func() { used[key{id, user}] = append(used[key{id, user}], slot) }, []any{&user, &slot},
			"SELECT user_id, slot FROM orders WHERE coupon_id = ? AND slot IS NOT NULL AND user_id IN "+tuples(1, len(of)), args...)
		if err != nil {
			return fmt.Errorf("slots of coupon %d: %w", id, err)
		}
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

// take lowers each coupon's stock by as many as are taken of it. If there are fewer,
// those who came last are refused: the transaction cannot be committed then.
func (t groupTx) take(ctx context.Context, in []*member) error {
	for id, of := range byCoupon(in, func(m *member) int64 { return m.from }) {
		for len(of) > 0 {
			same := only(of, func(m *member) bool { return m.epoch == of[0].epoch })
			if err := t.takeOf(ctx, id, same); err != nil {
				return err
			}
			of = only(of, func(m *member) bool { return m.epoch != same[0].epoch })
		}
	}
	return nil
}

func (t groupTx) takeOf(ctx context.Context, id int64, of []*member) error {
	epoch, n := of[0].epoch, len(of)
	done, err := t.conn.ExecContext(ctx,
		"UPDATE coupons SET stock = stock - ? WHERE id = ? AND epoch = ? AND stock >= ?", n, id, epoch, n)
	if err != nil {
		return fmt.Errorf("take %d of coupon %d: %w", n, id, err)
	}
	if rows, err := done.RowsAffected(); err != nil || rows == 1 {
		return wrap(err, "take %d of coupon %d", n, id)
	}
	stock, refusal, err := t.whyNot(ctx, id, epoch)
	switch {
	case err != nil:
		return fmt.Errorf("take %d of coupon %d: %w", n, id, err)
	case stock >= int64(n):
		return fmt.Errorf("%w: units of coupon %d came back just now", errAgain, id)
	}
	slices.SortFunc(of, func(a, b *member) int { return a.since.Compare(b.since) })
	for _, m := range of[stock:] {
		m.outcome = refusal
	}
	return nil
}

// whyNot says why a coupon's row refused, and how many units can be had nevertheless.
func (t groupTx) whyNot(ctx context.Context, id, epoch int64) (stock int64, refusal, err error) {
	refusal = coupon.ErrNotFound
	var current int64
	err = t.read(ctx, func() {
		if refusal = coupon.ErrSoldOut; current != epoch {
			stock, refusal = 0, order.ErrStaleEpoch
		}
	}, []any{&stock, &current}, "SELECT stock, epoch FROM coupons WHERE id = ?", id)
	return stock, refusal, err
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

// byCoupon gives the members of each coupon, the coupons in the order of their ids.
func byCoupon(in []*member, of func(*member) int64) func(func(int64, []*member) bool) {
	sorted := slices.SortedStableFunc(slices.Values(in), func(a, b *member) int { return cmp.Compare(of(a), of(b)) })
	return func(yield func(int64, []*member) bool) {
		for len(sorted) > 0 {
			id, n := of(sorted[0]), 1
			for n < len(sorted) && of(sorted[n]) == id {
				n++
			}
			if !yield(id, sorted[:n:n]) {
				return
			}
			sorted = sorted[n:]
		}
	}
}
