package api

import (
	"context"
	"time"

	"example.com/seckill/internal/api/auth"
	"example.com/seckill/internal/coupon"
)

// couponJSON is a coupon as the contract shows it.
type couponJSON struct {
	ID           int64        `json:"id,string"`
	Title        string       `json:"title"`
	Stock        int64        `json:"stock"`
	Left         int64        `json:"left"`
	LimitPerUser int          `json:"limit_per_user"`
	PriceCents   int64        `json:"price_cents"`
	BeginsAt     time.Time    `json:"begins_at"`
	EndsAt       time.Time    `json:"ends_at"`
	State        coupon.State `json:"state"`
}

func (s *Server) showCoupon(c coupon.Coupon) couponJSON {
	return couponJSON{
		ID: c.ID, Title: c.Title, Stock: c.Total, Left: c.Left, LimitPerUser: c.LimitPerUser,
		PriceCents: c.PriceCents, BeginsAt: wireTime(c.BeginsAt), EndsAt: wireTime(c.EndsAt),
		State: c.StateAt(s.o.Now()),
	}
}

// wireLayout formats a time of wireTime.
const wireLayout = "2006-01-02T15:04:05.000Z07:00"

// wireTime returns t as it is shown: UTC, in milliseconds.
func wireTime(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// couponPath is a request that names a coupon and has no other parameters.
type couponPath struct {
	id int64
	by auth.Identity
}

func (r *couponPath) read(in *input) { r.id, r.by = in.id(), in.who }

// getCoupon shows a coupon from memory; to an administrator as the database has it, and a draft.
func (s *Server) getCoupon(ctx context.Context, r couponPath) (couponJSON, error) {
	get := s.deps.Coupons.Get
	if r.by.Role == auth.RoleAdmin {
		get = s.deps.Editor.Read
	}
	c, err := get(ctx, r.id)
	return s.showCoupon(c), err
}

type listRequest struct {
	page page
	by   auth.Identity
}

func (r *listRequest) read(in *input) { r.page, r.by = in.page(), in.who }

type couponList struct {
	Coupons    []couponJSON `json:"coupons"`
	NextCursor string       `json:"next_cursor"`
}

func (s *Server) listCoupons(ctx context.Context, r listRequest) (couponList, error) {
	list := s.deps.Coupons.List
	if r.by.Role == auth.RoleAdmin {
		list = s.deps.Editor.ReadAll
	}
	found, err := list(ctx, r.page.cursor, r.page.limit+1)
	if err != nil {
		return couponList{}, err
	}
	found, next := more(found, r.page.limit, func(c coupon.Coupon) int64 { return c.ID })
	shown := couponList{Coupons: make([]couponJSON, 0, len(found)), NextCursor: next}
	for _, c := range found {
		shown.Coupons = append(shown.Coupons, s.showCoupon(c))
	}
	return shown, nil
}
