package store

import (
	"context"
	"encoding/hex"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"example.com/seckill/internal/lottery"
	"example.com/seckill/internal/order"
)

type drawRow struct {
	CouponID int64 `gorm:"primaryKey;autoIncrement:false"`
	Seed     string
	BegunAt  *time.Time
	EndedAt  *time.Time
	Entrants int64
	Winners  int64
	LastRank string
}

func (drawRow) TableName() string { return "lottery_draws" }

func (r drawRow) draw() (lottery.Draw, error) {
	seed, err := hex.DecodeString(r.Seed)
	d := lottery.Draw{CouponID: r.CouponID, Seed: seed, Entrants: r.Entrants, Winners: r.Winners, LastRank: r.LastRank}
	if r.BegunAt != nil {
		d.BegunAt = r.BegunAt.UTC()
	}
	if r.EndedAt != nil {
		d.EndedAt = r.EndedAt.UTC()
	}
	return d, wrap(err, "the seed of the draw of coupon %d", r.CouponID)
}

type entrantRow struct {
	CouponID  int64 `gorm:"primaryKey;autoIncrement:false"`
	UserID    int64 `gorm:"primaryKey;autoIncrement:false"`
	ID        int64
	RequestID string
	CreatedAt time.Time `gorm:"autoCreateTime:false"`
}

func (entrantRow) TableName() string { return "lottery_entrants" }

func (r entrantRow) order() order.Order {
	return order.Order{
		ID: r.ID, CouponID: r.CouponID, UserID: r.UserID, RequestID: r.RequestID, CreatedAt: r.CreatedAt.UTC(), ExpiresAt: r.CreatedAt.UTC(),
	}
}

// Draw implements lottery.Draws.
func (s *Store) Draw(ctx context.Context, couponID int64, seed []byte) (lottery.Draw, error) {
	var rows []drawRow
	if err := s.write.WithContext(ctx).Where("coupon_id = ?", couponID).Find(&rows).Error; err != nil {
		return lottery.Draw{}, wrap(err, "read the draw of coupon %d", couponID)
	}
	if len(rows) == 0 {
		row := drawRow{CouponID: couponID, Seed: hex.EncodeToString(seed)}
		if err := s.write.WithContext(ctx).Clauses(clause.OnConflict{DoNothing: true}).Create(&row).Error; err != nil {
			return lottery.Draw{}, wrap(err, "make the draw of coupon %d", couponID)
		}
		if err := s.write.WithContext(ctx).Where("coupon_id = ?", couponID).Find(&rows).Error; err != nil || len(rows) == 0 {
			return lottery.Draw{}, wrap(err, "read the draw of coupon %d", couponID) // of another instance, perhaps
		}
	}
	return rows[0].draw()
}

// enterSQL writes a ticket while the draw has not begun, which it keeps from beginning meanwhile: a draw
// that has begun sees every ticket.
var enterSQL = map[dialect]string{
	mysqlDialect: `INSERT IGNORE INTO lottery_entrants (coupon_id, user_id, id, request_id, created_at)
		SELECT coupon_id, ?, ?, ?, ? FROM lottery_draws WHERE coupon_id = ? AND begun_at IS NULL LOCK IN SHARE MODE`,
	sqliteDialect: `INSERT OR IGNORE INTO lottery_entrants (coupon_id, user_id, id, request_id, created_at)
		SELECT coupon_id, ?, ?, ?, ? FROM lottery_draws WHERE coupon_id = ? AND begun_at IS NULL`,
}

// Enter implements lottery.Draws.
func (s *Store) Enter(ctx context.Context, o order.Order) (order.Order, error) {
	given := s.write.WithContext(ctx).Exec(enterSQL[s.dialect], o.UserID, o.ID, o.RequestID, dbTime(o.CreatedAt), o.CouponID)
	if given.Error != nil {
		return order.Order{}, wrap(given.Error, "give user %d a ticket for coupon %d", o.UserID, o.CouponID)
	}
	if given.RowsAffected == 1 {
		return o, nil
	}
	var rows []entrantRow
	err := s.write.WithContext(ctx).Where("coupon_id = ? AND user_id = ?", o.CouponID, o.UserID).Find(&rows).Error
	switch {
	case err != nil:
		return order.Order{}, wrap(err, "read the ticket of user %d for coupon %d", o.UserID, o.CouponID)
	case len(rows) == 0:
		return order.Order{}, lottery.ErrDrawn
	}
	return rows[0].order(), nil
}

// Entrant implements lottery.Draws.
func (s *Store) Entrant(ctx context.Context, id, userID int64) (order.Order, error) {
	var rows []entrantRow
	err := s.read.WithContext(ctx).Where("id = ? AND user_id = ?", id, userID).Find(&rows).Error
	switch {
	case err != nil:
		return order.Order{}, wrap(err, "read ticket %d", id)
	case len(rows) == 0:
		return order.Order{}, order.ErrNotFound
	}
	return rows[0].order(), nil
}

// Begin implements lottery.Draws. The row is locked by every ticket that is being given.
func (s *Store) Begin(ctx context.Context, couponID int64, now time.Time) error {
	err := s.write.WithContext(ctx).Model(&drawRow{}).Where("coupon_id = ? AND begun_at IS NULL", couponID).
		Update("begun_at", dbTime(now)).Error
	return wrap(err, "begin the draw of coupon %d", couponID)
}

// EntrantIDs implements lottery.Draws.
func (s *Store) EntrantIDs(ctx context.Context, couponID, after int64, limit int) (users []int64, err error) {
	err = s.bulk.WithContext(ctx).Model(&entrantRow{}).Where("coupon_id = ? AND user_id > ?", couponID, after).
		Order("user_id").Limit(limit).Pluck("user_id", &users).Error
	return users, wrap(err, "list the tickets for coupon %d", couponID)
}

// Entrants implements lottery.Draws.
func (s *Store) Entrants(ctx context.Context, couponID int64, users []int64) (map[int64]lottery.Entrant, error) {
	var rows []entrantRow
	db := s.write.WithContext(ctx)
	if err := db.Where("coupon_id = ? AND user_id IN ?", couponID, users).Find(&rows).Error; err != nil {
		return nil, wrap(err, "read tickets for coupon %d", couponID)
	}
	tickets, err := withDecided(db, rows)
	all := make(map[int64]lottery.Entrant, len(tickets))
	for _, t := range tickets {
		all[t.Order.UserID] = t
	}
	return all, wrap(err, "read the orders of tickets for coupon %d", couponID)
}

// withDecided returns the tickets with whether their requests have rows.
func withDecided(db *gorm.DB, rows []entrantRow) ([]lottery.Entrant, error) {
	requests := make([]string, len(rows))
	for i, row := range rows {
		requests[i] = row.RequestID
	}
	var found []orderRow
	if err := db.Select("request_id", "user_id", "status").Where("request_id IN ?", requests).Find(&found).Error; err != nil {
		return nil, err
	}
	type key struct {
		request string
		user    int64
	}
	decided := make(map[key]order.Status, len(found))
	for _, o := range found {
		decided[key{o.RequestID, o.UserID}] = o.Status
	}
	tickets := make([]lottery.Entrant, len(rows))
	for i, row := range rows {
		status := decided[key{row.RequestID, row.UserID}]
		tickets[i] = lottery.Entrant{Order: row.order(), Decided: status != "", Void: status == order.Void}
	}
	return tickets, nil
}

// End implements lottery.Draws.
func (s *Store) End(ctx context.Context, d lottery.Draw) error {
	err := s.write.WithContext(ctx).Model(&drawRow{}).Where("coupon_id = ? AND ended_at IS NULL", d.CouponID).
		Updates(map[string]any{"ended_at": dbTime(d.EndedAt), "entrants": d.Entrants, "winners": d.Winners, "last_rank": d.LastRank}).Error
	return wrap(err, "end the draw of coupon %d", d.CouponID)
}

// deleteDraw deletes the draw of an archived sale and up to most of its tickets, and returns how many: the
// draw first, because an audit would miss the tickets that are gone.
func deleteDraw(ctx context.Context, db *gorm.DB, couponID int64, most int) (int64, error) {
	if err := db.WithContext(ctx).Where("coupon_id = ?", couponID).Delete(&drawRow{}).Error; err != nil {
		return 0, wrap(err, "delete the draw of coupon %d", couponID)
	}
	var rows []entrantRow
	err := db.WithContext(ctx).Where("coupon_id = ?", couponID).Order("user_id").Limit(most).Find(&rows).Error
	if err != nil || len(rows) == 0 {
		return 0, wrap(err, "read tickets for coupon %d", couponID)
	}
	res := db.WithContext(ctx).Where("coupon_id = ? AND user_id <= ?", couponID, rows[len(rows)-1].UserID).Delete(&entrantRow{})
	return res.RowsAffected, wrap(res.Error, "delete tickets for coupon %d", couponID)
}
