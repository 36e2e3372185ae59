package store

import (
	"context"
	"time"

	"example.com/seckill/internal/order"
)

// Unpaid returns how many orders of a coupon await their payment, and when the last of them expires; the zero
// time if there is none.
func (s *Store) Unpaid(ctx context.Context, couponID int64) (n int64, until time.Time, err error) {
	pending := s.read.WithContext(ctx).Model(&orderRow{}).Where("status = ? AND coupon_id = ?", order.Pending, couponID)
	var last []orderRow
	if err = pending.Select("expires_at").Order("expires_at DESC").Limit(1).Find(&last).Error; err != nil || len(last) == 0 {
		return 0, time.Time{}, wrap(err, "look for unpaid orders of coupon %d", couponID)
	}
	err = s.read.WithContext(ctx).Model(&orderRow{}).Where("status = ? AND coupon_id = ?", order.Pending, couponID).Count(&n).Error
	return n, last[0].ExpiresAt.UTC(), wrap(err, "count the unpaid orders of coupon %d", couponID)
}
