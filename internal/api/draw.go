package api

import (
	"context"
	"encoding/hex"
	"time"

	"example.com/seckill/internal/order"
)

// drawJSON is a draw as the contract shows it. Its seed is told when the draw has ended, and its hash before
// the first ticket.
type drawJSON struct {
	CouponID int64      `json:"coupon_id,string"`
	SeedHash string     `json:"seed_hash"`
	DrawsAt  time.Time  `json:"draws_at"`
	EndedAt  *time.Time `json:"ended_at,omitempty"`
	Seed     string     `json:"seed,omitempty"`
	Entrants int64      `json:"entrants,omitempty"`
	Winners  int64      `json:"winners,omitempty"`
	LastRank string     `json:"last_rank,omitempty"`
}

func (s *Server) getDraw(ctx context.Context, r couponPath) (drawJSON, error) {
	if s.deps.Draws == nil {
		return drawJSON{}, order.ErrNotFound
	}
	d, drawsAt, err := s.deps.Draws.ReadDraw(ctx, r.id)
	if err != nil {
		return drawJSON{}, err
	}
	j := drawJSON{CouponID: d.CouponID, SeedHash: d.SeedHash(), DrawsAt: wireTime(drawsAt)}
	if !d.EndedAt.IsZero() {
		ended := wireTime(d.EndedAt)
		j.EndedAt, j.Seed = &ended, hex.EncodeToString(d.Seed)
		j.Entrants, j.Winners, j.LastRank = d.Entrants, d.Winners, d.LastRank
	}
	return j, nil
}
