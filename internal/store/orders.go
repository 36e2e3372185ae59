package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"example.com/seckill/internal/order"
)

// wrap says what failed and keeps why, or is nil.
func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return classify(fmt.Errorf(format+": %w", append(args, err)...))
}

// Get reads an order of the user; the owner is part of the question to the database.
func (s *Store) Get(ctx context.Context, id, userID int64) (order.Order, error) {
	return s.byID.load(ctx, id, userID)
}

// ByRequest reads the order, or the void order, that a request of the user made.
func (s *Store) ByRequest(ctx context.Context, requestID string, userID int64) (order.Order, error) {
	return s.byRequest.load(ctx, requestID, userID)
}

// List reads the user's orders, newest first. Void ones are not orders.
func (s *Store) List(ctx context.Context, userID, before int64, limit int) ([]order.Order, error) {
	q := s.read.WithContext(ctx).Where("user_id = ? AND status <> ?", userID, order.Void)
	if before > 0 {
		q = q.Where("id < ?", before)
	}
	var rows []orderRow
	if err := q.Order("id DESC").Limit(limit).Find(&rows).Error; err != nil {
		return nil, wrap(err, "list the orders of user %d", userID)
	}
	return ordersOf(rows), nil
}

func ordersOf(rows []orderRow) []order.Order {
	all := make([]order.Order, len(rows))
	for i, row := range rows {
		all[i] = row.order()
	}
	return all
}

// Void writes a void order under o's request id, in a transaction of its own that
// waits for any other that is writing the same request id.
func (s *Store) Void(ctx context.Context, o order.Order) error {
	o.Status = order.Void
	row := rowOfOrder(o)
	return insertError(s.write.WithContext(ctx).Create(&row).Error, o)
}

// Overdue reports whether there are pending orders whose time had run out at now.
func (s *Store) Overdue(ctx context.Context, now time.Time) (bool, error) {
	var one []int64
	err := s.read.WithContext(ctx).Model(&orderRow{}).Where("status = ? AND expires_at <= ?", order.Pending, dbTime(now)).
		Limit(1).Pluck("id", &one).Error
	return len(one) > 0, wrap(err, "look for overdue orders")
}

// DueRestocks lists units owed to the shards, by order id.
func (s *Store) DueRestocks(ctx context.Context, after int64, limit int) ([]order.Restock, error) {
	var rows []returnRow
	err := s.read.WithContext(ctx).Where("order_id > ?", after).Order("order_id").Limit(limit).Find(&rows).Error
	due := make([]order.Restock, len(rows))
	for i, row := range rows {
		due[i] = order.Restock(row)
	}
	return due, wrap(err, "list due returns")
}

// Delivered deletes rows of the outbox: the shards have their units. A row of another epoch
// stays: the database was set back meanwhile, and the order was cancelled anew.
func (s *Store) Delivered(ctx context.Context, of ...order.Restock) error {
	for some := range slices.Chunk(of, keysPerStatement) {
		args := make([]any, 0, 3*len(some))
		for _, r := range some {
			args = append(args, r.OrderID, r.UserID, r.Epoch)
		}
		if err := s.write.WithContext(ctx).Exec(returnByOrder.deleteSQL(s.dialect, len(some)), args...).Error; err != nil {
			return wrap(err, "note the return of %d orders", len(some))
		}
	}
	return nil
}
