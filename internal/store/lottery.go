package store

import (
	"context"
	"encoding/hex"
	"errors"
	"slices"
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

	DecidedRanks int
	Archived     bool // its tickets are deleted, or will be
}

func (drawRow) TableName() string { return "lottery_draws" }

func (r drawRow) draw() (lottery.Draw, error) {
	seed, err := hex.DecodeString(r.Seed)
	d := lottery.Draw{
		CouponID: r.CouponID, Seed: seed, Entrants: r.Entrants, Winners: r.Winners, LastRank: r.LastRank, DecidedRanks: r.DecidedRanks,
	}
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
func (s *Store) Draw(ctx context.Context, couponID int64) (lottery.Draw, error) {
	var rows []drawRow
	err := s.write.WithContext(ctx).Where("coupon_id = ?", couponID).Find(&rows).Error
	switch {
	case err != nil:
		return lottery.Draw{}, wrap(err, "read the draw of coupon %d", couponID)
	case len(rows) == 0:
		return lottery.Draw{}, order.ErrNotFound
	}
	return rows[0].draw()
}

// OpenDraws implements lottery.Draws.
func (s *Store) OpenDraws(ctx context.Context, couponIDs []int64) (open []int64, err error) {
	for some := range slices.Chunk(couponIDs, keysPerStatement) {
		var ids []int64
		err := s.write.WithContext(ctx).Model(&drawRow{}).Where("coupon_id IN ? AND ended_at IS NULL", some).Pluck("coupon_id", &ids).Error
		if err != nil {
			return nil, wrap(err, "list the draws that have not ended")
		}
		open = append(open, ids...)
	}
	return open, nil
}

// MakeDraw implements lottery.Draws.
func (s *Store) MakeDraw(ctx context.Context, couponID int64, seed []byte) (lottery.Draw, error) {
	d, err := s.Draw(ctx, couponID)
	if !errors.Is(err, order.ErrNotFound) {
		return d, err
	}
	row := drawRow{CouponID: couponID, Seed: hex.EncodeToString(seed)}
	if err := s.write.WithContext(ctx).Clauses(clause.OnConflict{DoNothing: true}).Create(&row).Error; err != nil {
		return lottery.Draw{}, wrap(err, "make the draw of coupon %d", couponID)
	}
	return s.Draw(ctx, couponID) // another instance may have made it
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

// EntrantIDs implements lottery.Draws. A page is a short range of the primary key, so it needs none of the few
// connections that audits have for minutes.
func (s *Store) EntrantIDs(ctx context.Context, couponID, after int64, limit int) (users []int64, err error) {
	err = s.write.WithContext(ctx).Model(&entrantRow{}).Where("coupon_id = ? AND user_id > ?", couponID, after).
		Order("user_id").Limit(limit).Pluck("user_id", &users).Error
	return users, wrap(err, "list the tickets for coupon %d", couponID)
}

// Entrants implements lottery.Draws.
func (s *Store) Entrants(ctx context.Context, couponID int64, users []int64) (map[int64]lottery.Entrant, error) {
	var rows []entrantRow
	db := s.write.WithContext(ctx)
	if len(users) == 0 {
		return map[int64]lottery.Entrant{}, nil
	}
	of := make([]any, 0, 2*len(users))
	for _, user := range users {
		of = append(of, couponID, user)
	}
	err := db.Raw(entrantByUser.selectSQL(s.dialect, "coupon_id, user_id, id, request_id, created_at", len(users)), of...).Scan(&rows).Error
	if err != nil {
		return nil, wrap(err, "read tickets for coupon %d", couponID)
	}
	tickets, err := entrantsOf(db, s.dialect, couponID, rows)
	all := make(map[int64]lottery.Entrant, len(tickets))
	for _, t := range tickets {
		all[t.Order.UserID] = t
	}
	return all, wrap(err, "read the orders of tickets for coupon %d", couponID)
}

// entrantsOf returns tickets for a coupon with what became of them.
func entrantsOf(db *gorm.DB, d dialect, couponID int64, rows []entrantRow) ([]lottery.Entrant, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	buyers := make([]any, 0, 2*len(rows))
	for _, row := range rows {
		buyers = append(buyers, couponID, row.UserID)
	}
	var found []orderRow
	err := db.Raw(orderByBuyer.selectSQL(d, "request_id, user_id, status", len(rows)), buyers...).Scan(&found).Error
	if err != nil {
		return nil, err
	}
	statuses := make(map[int64]map[string]order.Status, len(rows))
	for _, o := range found {
		if statuses[o.UserID] == nil {
			statuses[o.UserID] = map[string]order.Status{}
		}
		statuses[o.UserID][o.RequestID] = o.Status
	}
	taken, err := takenRequests(db, d, couponID, rows, statuses)
	if err != nil {
		return nil, err
	}
	tickets := make([]lottery.Entrant, len(rows))
	for i, row := range rows {
		tickets[i] = lottery.NewEntrant(row.order(), statuses[row.UserID], taken[row.UserID])
	}
	return tickets, nil
}

// takenRequests returns the users of tickets whose requests have an order of another coupon. A request that has an
// order of this coupon is none of them.
func takenRequests(
	db *gorm.DB, d dialect, couponID int64, rows []entrantRow, statuses map[int64]map[string]order.Status,
) (map[int64]bool, error) {
	var requests []any
	for _, row := range rows {
		if _, has := statuses[row.UserID][row.RequestID]; !has {
			requests = append(requests, row.RequestID, row.UserID)
		}
	}
	taken := map[int64]bool{}
	if len(requests) == 0 {
		return taken, nil
	}
	var found []orderRow
	err := db.Raw(orderByRequest.selectSQL(d, "user_id, coupon_id", len(requests)/2), requests...).Scan(&found).Error
	for _, o := range found {
		if o.CouponID != couponID {
			taken[o.UserID] = true
		}
	}
	return taken, err
}

// UnitsLeft implements lottery.Draws.
func (s *Store) UnitsLeft(ctx context.Context, couponID int64) (int64, error) {
	var row couponRow
	err := s.write.WithContext(ctx).Select("stock").Take(&row, couponID).Error
	return row.Stock, wrap(err, "read the units left of coupon %d", couponID)
}

// Advance implements lottery.Draws.
func (s *Store) Advance(ctx context.Context, d lottery.Draw) error {
	err := s.write.WithContext(ctx).Model(&drawRow{}).
		Where("coupon_id = ? AND begun_at IS NOT NULL AND ended_at IS NULL AND decided_ranks < ?", d.CouponID, d.DecidedRanks).
		Update("decided_ranks", d.DecidedRanks).Error
	return wrap(err, "write the progress of the draw of coupon %d", d.CouponID)
}

// End implements lottery.Draws.
func (s *Store) End(ctx context.Context, d lottery.Draw) error {
	err := s.write.WithContext(ctx).Model(&drawRow{}).Where("coupon_id = ? AND ended_at IS NULL", d.CouponID).
		Updates(map[string]any{"ended_at": dbTime(d.EndedAt), "entrants": d.Entrants, "winners": d.Winners, "last_rank": d.LastRank}).Error
	return wrap(err, "end the draw of coupon %d", d.CouponID)
}

// deleteTickets deletes up to most tickets of an archived sale, and returns how many. The draw stays: a buyer who kept
// the hash of its seed may ask for the seed years later. First it marks the draw, because an audit would miss the
// tickets that are gone.
func deleteTickets(ctx context.Context, db *gorm.DB, couponID int64, most int) (int64, error) {
	marked := db.WithContext(ctx).Model(&drawRow{}).Where("coupon_id = ? AND NOT archived", couponID).Update("archived", true)
	if marked.Error != nil {
		return 0, wrap(marked.Error, "mark the draw of coupon %d", couponID)
	}
	var rows []entrantRow
	err := db.WithContext(ctx).Where("coupon_id = ?", couponID).Order("user_id").Limit(most).Find(&rows).Error
	if err != nil || len(rows) == 0 {
		return 0, wrap(err, "read tickets for coupon %d", couponID)
	}
	res := db.WithContext(ctx).Where("coupon_id = ? AND user_id <= ?", couponID, rows[len(rows)-1].UserID).Delete(&entrantRow{})
	return res.RowsAffected, wrap(res.Error, "delete tickets for coupon %d", couponID)
}
