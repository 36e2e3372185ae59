package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// tx is an order.Tx. Its statements run in the order in which order calls them.
type tx struct{ db *gorm.DB }

// Fence raises the user's fence, in one statement that a smaller one cannot pass.
func (t tx) Fence(ctx context.Context, userID int64, fence uint64) error {
	res := t.db.WithContext(ctx).Model(&fenceRow{}).
		Where("user_id = ? AND fence <= ?", userID, fence).UpdateColumn("fence", fence)
	if res.Error != nil {
		return fmt.Errorf("fence of user %d: %w", userID, res.Error)
	}
	if res.RowsAffected == 1 {
		return nil
	}
	err := t.db.WithContext(ctx).Create(&fenceRow{UserID: userID, Fence: fence}).Error
	if err == nil || !isDuplicate(err) {
		return wrap(err, "fence of user %d", userID)
	}
	var row fenceRow
	if err := t.db.WithContext(ctx).Take(&row, "user_id = ?", userID).Error; err != nil {
		return fmt.Errorf("fence of user %d: %w", userID, err)
	}
	if row.Fence <= fence {
		return fmt.Errorf("%w: the fence of user %d was made just now", errRetry, userID)
	}
	return &order.StaleFenceError{Given: fence, Seen: row.Fence}
}

// FreeSlot finds the lowest slot that no live order of the user has.
func (t tx) FreeSlot(ctx context.Context, couponID, userID int64, limit int) (int, error) {
	var used []int
	err := t.db.WithContext(ctx).Model(&orderRow{}).
		Where("coupon_id = ? AND user_id = ? AND slot IS NOT NULL", couponID, userID).Pluck("slot", &used).Error
	if err != nil {
		return 0, fmt.Errorf("slots of user %d: %w", userID, err)
	}
	return freeSlot(used, limit)
}

func freeSlot(used []int, limit int) (int, error) {
	if len(used) >= limit {
		return 0, order.ErrLimitReached
	}
	for slot := 1; ; slot++ {
		if !slices.Contains(used, slot) {
			return slot, nil
		}
	}
}

// Insert writes the order. That the slot is taken although it was free a moment ago
// means that another holder was let into the lock too: look again.
func (t tx) Insert(ctx context.Context, o order.Order) error {
	row := rowOfOrder(o)
	return insertError(t.db.WithContext(ctx).Create(&row).Error, o)
}

func insertError(err error, o order.Order) error {
	switch slot, request := violatedIndex(err); {
	case slot:
		return fmt.Errorf("%w: slot %d of user %d is taken", errRetry, o.Slot, o.UserID)
	case request:
		return fmt.Errorf("%w: %s", order.ErrDuplicate, o.RequestID)
	}
	return wrap(err, "insert order %d", o.ID)
}

// TakeOne lowers the stock by one. The check and the write are one statement, so no
// reader can come between them and the stock cannot go below zero.
func (t tx) TakeOne(ctx context.Context, sale coupon.Coupon) error {
	couponID, epoch := sale.ID, sale.Epoch
	res := t.db.WithContext(ctx).Model(&couponRow{}).Where("id = ? AND epoch = ? AND stock > 0", couponID, epoch).
		UpdateColumn("stock", gorm.Expr("stock - 1"))
	if res.Error != nil {
		return fmt.Errorf("take one of coupon %d: %w", couponID, res.Error)
	}
	if res.RowsAffected == 1 {
		return nil
	}
	now, err := readCoupon(t.db.WithContext(ctx), couponID)
	switch {
	case err != nil:
		return err
	case now.Epoch != epoch:
		return order.ErrStaleEpoch
	}
	return coupon.ErrSoldOut
}

// Pay moves a pending order of the user, if its time has not run out.
func (t tx) Pay(ctx context.Context, id, userID int64, now time.Time) (bool, error) {
	return t.transition(ctx, order.Paid, "id = ? AND user_id = ? AND status = ? AND expires_at > ?", id, userID, order.Pending, now.UTC())
}

// Cancel moves a pending order of the user and frees its slot.
func (t tx) Cancel(ctx context.Context, id, userID int64) (bool, error) {
	return t.transition(ctx, order.Cancelled, "id = ? AND user_id = ? AND status = ?", id, userID, order.Pending)
}

// transition changes the state and checks it in one statement, so that of two that race
// one finds nothing.
func (t tx) transition(ctx context.Context, to order.Status, where string, args ...any) (bool, error) {
	set := map[string]any{"status": to}
	if !to.Live() {
		set["slot"] = nil
	}
	res := t.db.WithContext(ctx).Model(&orderRow{}).Where(where, args...).UpdateColumns(set)
	if res.Error != nil {
		return false, fmt.Errorf("make order %v %s: %w", args[0], to, res.Error)
	}
	return res.RowsAffected == 1, nil
}
