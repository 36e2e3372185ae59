package designs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"example.com/seckill/internal/app"
	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// stores has the stores of a maker, and the statements that several makers share.
type stores struct {
	app.DesignDeps

	isolation sql.IsolationLevel // of transactions; the embedded database has one only
}

func newStores(d app.DesignDeps) *stores {
	if d.Embedded {
		return &stores{d, sql.LevelDefault}
	}
	return &stores{d, sql.LevelReadCommitted}
}

// querier is a pool of connections or a transaction.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// insert inserts an order. It returns order.ErrDuplicate if its request has an order, and order.ErrLimitReached if the
// user has an order in the same slot.
func insert(ctx context.Context, q querier, o order.Order, slot int) error {
	_, err := q.ExecContext(ctx, "INSERT INTO orders (id, coupon_id, user_id, slot, status, price_cents, request_id, shard, fence, "+
		"created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, 0, 0, ?, ?)",
		o.ID, o.CouponID, o.UserID, slot, string(o.Status), o.PriceCents, o.RequestID, o.CreatedAt, o.ExpiresAt)
	switch {
	case err == nil:
		return nil
	case !isDuplicate(err):
		return fmt.Errorf("insert order %d: %w", o.ID, err)
	case strings.Contains(err.Error(), "slot"):
		return order.ErrLimitReached
	}
	return order.ErrDuplicate
}

// insertNext inserts an order in the lowest free slot of its user. The unique key (coupon, user, slot) rejects a second
// order in one slot.
func insertNext(ctx context.Context, q querier, sale coupon.Coupon, o order.Order) error {
	for {
		slot, err := freeSlot(ctx, q, sale, o.UserID)
		if err == nil {
			err = insert(ctx, q, o, slot)
		}
		another := sale.LimitPerUser > 1 && slot > 0 // another request of the user has taken the slot
		if !another || !errors.Is(err, order.ErrLimitReached) || ctx.Err() != nil {
			return err
		}
	}
}

// freeSlot returns the lowest free slot of the user, or order.ErrLimitReached. If a user may have one order, the slot
// is 1, and there is nothing to read.
func freeSlot(ctx context.Context, q querier, sale coupon.Coupon, userID int64) (int, error) {
	if sale.LimitPerUser == 1 {
		return 1, nil
	}
	rows, err := q.QueryContext(ctx, "SELECT slot FROM orders WHERE coupon_id = ? AND user_id = ? AND slot IS NOT NULL", sale.ID, userID)
	if err != nil {
		return 0, fmt.Errorf("read the slots of user %d: %w", userID, err)
	}
	defer func() { _ = rows.Close() }() // Err below returns the same error
	used := map[int]bool{}
	for rows.Next() {
		var slot int
		if err := rows.Scan(&slot); err != nil {
			return 0, fmt.Errorf("read a slot of user %d: %w", userID, err)
		}
		used[slot] = true
	}
	if err := rows.Err(); err != nil || len(used) >= sale.LimitPerUser {
		return 0, errors.Join(err, order.ErrLimitReached)
	}
	slot := 1
	for used[slot] {
		slot++
	}
	return slot, nil
}

// noSlot is a slot that no other order of the user has. A design without a unique key (coupon, user) uses it, because
// the table of this program has one.
func noSlot(o order.Order) int { return int(o.ID%(math.MaxInt32-1)) + 1 }

// countOrders counts the user's live orders.
func countOrders(ctx context.Context, q querier, o order.Order) (n int, err error) {
	err = q.QueryRowContext(ctx, "SELECT COUNT(*) FROM orders WHERE coupon_id = ? AND user_id = ? AND slot IS NOT NULL",
		o.CouponID, o.UserID).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count the orders of user %d: %w", o.UserID, err)
	}
	return n, nil
}

// takeUnit lowers the coupon's stock by one in one statement, and returns coupon.ErrSoldOut if no unit is left.
func takeUnit(ctx context.Context, q querier, couponID int64) error {
	return changeOne(ctx, q, coupon.ErrSoldOut, "UPDATE coupons SET stock = stock - 1 WHERE id = ? AND stock > 0", couponID)
}

// changeOne runs a statement, and returns the error otherwise if the statement finds no row.
func changeOne(ctx context.Context, q querier, otherwise error, statement string, args ...any) error {
	result, err := q.ExecContext(ctx, statement, args...)
	if err != nil {
		return fmt.Errorf("change a row: %w", err)
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, otherwise)
	}
	return nil
}

// deadlockTries bounds the tries of a transaction that the database has chosen to end a deadlock.
const deadlockTries = 10

// inTx runs work in a transaction. If the database rolls the transaction back because of a deadlock, it runs again.
func (s *stores) inTx(ctx context.Context, work func(tx *sql.Tx) error) error {
	for try := 1; ; try++ {
		err := s.inTxOnce(ctx, work)
		if !isDeadlock(err) || try == deadlockTries || rest(ctx, rand.N(5*time.Millisecond)) != nil { //nolint:gosec // jitter
			return err
		}
	}
}

func (s *stores) inTxOnce(ctx context.Context, work func(tx *sql.Tx) error) error {
	tx, err := s.DB.BeginTx(ctx, &sql.TxOptions{Isolation: s.isolation})
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer tx.Rollback() //nolint:errcheck // after a commit there is nothing to roll back
	if err := work(tx); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// rest waits, and returns the error of ctx if that ends first.
func rest(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// number returns the number of an error of MySQL, or 0.
func number(err error) uint16 {
	if e, is := errors.AsType[*mysql.MySQLError](err); is {
		return e.Number
	}
	return 0
}

// isSQLite reports whether err is an error of SQLite with this text. Only package store knows its driver.
func isSQLite(err error, text string) bool {
	var e interface{ Code() int }
	return errors.As(err, &e) && strings.Contains(err.Error(), text)
}

func isDuplicate(err error) bool {
	return number(err) == 1062 || isSQLite(err, "UNIQUE constraint failed")
}

// isMissing reports whether a table is missing. MariaDB also says 1142, to a user with rights on single tables, whether
// there is such a table or not.
func isMissing(err error) bool {
	return number(err) == 1146 || number(err) == 1142 || isSQLite(err, "no such table")
}

func isDeadlock(err error) bool { return number(err) == 1213 || number(err) == 1205 }

// sold is what the database has sold of a coupon.
type sold struct {
	left   int64 // units in the coupon's row
	orders map[int64]int64
}

// readSold reads the units that are left, and the live orders of each buyer.
func (s *stores) readSold(ctx context.Context, couponID int64) (sold, error) {
	read := sold{orders: map[int64]int64{}}
	if err := s.DB.QueryRowContext(ctx, "SELECT stock FROM coupons WHERE id = ?", couponID).Scan(&read.left); err != nil {
		return read, fmt.Errorf("read the stock: %w", err)
	}
	rows, err := s.DB.QueryContext(ctx,
		"SELECT user_id, COUNT(*) FROM orders WHERE coupon_id = ? AND slot IS NOT NULL GROUP BY user_id", couponID)
	if err != nil {
		return read, fmt.Errorf("read the buyers: %w", err)
	}
	defer func() { _ = rows.Close() }() // Err below returns the same error
	for rows.Next() {
		var user, orders int64
		if err := rows.Scan(&user, &orders); err != nil {
			return read, fmt.Errorf("read a buyer: %w", err)
		}
		read.orders[user] = orders
	}
	return read, rows.Err()
}
