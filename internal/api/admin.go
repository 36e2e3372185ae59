package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"example.com/seckill/internal/coupon"
)

// edit holds the fields of a coupon that an administrator may set. The state of a new one is not
// among them.
type edit struct {
	title    *string
	stock    *int64
	limit    *int
	price    *int64
	begins   *time.Time
	ends     *time.Time
	endsSale bool
}

func (e *edit) fields() fields {
	return fields{
		"title": asText(&e.title), "stock": asNumber(&e.stock), "limit_per_user": asNumber(&e.limit),
		"price_cents": asNumber(&e.price), "begins_at": asTime(&e.begins), "ends_at": asTime(&e.ends),
	}
}

type createRequest struct{ coupon.Coupon }

func (r *createRequest) read(in *input) {
	var e edit
	in.body(e.fields())
	for _, f := range []struct {
		name    string
		missing bool
	}{
		{"title", e.title == nil},
		{"stock", e.stock == nil},
		{"begins_at", e.begins == nil},
		{"ends_at", e.ends == nil},
	} {
		if f.missing {
			in.refuse(malformed("field %q is missing", f.name))
		}
	}
	if in.err != nil {
		return
	}
	r.Title, r.Total, r.BeginsAt, r.EndsAt, r.LimitPerUser = *e.title, *e.stock, *e.begins, *e.ends, 1
	if e.limit != nil {
		r.LimitPerUser = *e.limit
	}
	if e.price != nil {
		r.PriceCents = *e.price
	}
}

// created is a coupon that has been created.
type created struct{ couponJSON }

func (c created) writeHeader(h http.Header) int {
	h["Location"] = []string{"/api/v1/coupons/" + strconv.FormatInt(c.ID, 10)}
	return http.StatusCreated
}

func (s *Server) createCoupon(ctx context.Context, r createRequest) (created, error) {
	c, err := s.deps.Editor.Create(ctx, r.Coupon)
	return created{s.showCoupon(c)}, err
}

type patchRequest struct {
	id     int64
	change coupon.Change
}

func (r *patchRequest) read(in *input) {
	var e edit
	f := e.fields()
	f["state"] = func(raw json.RawMessage) error {
		if string(raw) != `"ended"` {
			return errors.New(`"ended"; a sale is opened and paused at its /publication`)
		}
		e.endsSale = true
		return nil
	}
	r.id = in.id()
	in.body(f)
	r.change = coupon.Change{
		Title: e.title, Total: e.stock, LimitPerUser: e.limit, PriceCents: e.price,
		BeginsAt: e.begins, EndsAt: e.ends, End: e.endsSale,
	}
}

func (s *Server) patchCoupon(ctx context.Context, r patchRequest) (couponJSON, error) {
	c, err := s.deps.Editor.Patch(ctx, r.id, r.change)
	return s.showCoupon(c), err
}

// adminCouponRequest is an administrator's request to act on a coupon.
type adminCouponRequest struct{ id int64 }

func (r *adminCouponRequest) read(in *input) {
	r.id = in.id()
	in.noBody()
}

func (s *Server) publish(ctx context.Context, r adminCouponRequest) (couponJSON, error) {
	c, err := s.deps.Editor.Publish(ctx, r.id)
	return s.showCoupon(c), err
}

func (s *Server) pause(ctx context.Context, r adminCouponRequest) (couponJSON, error) {
	c, err := s.deps.Editor.Pause(ctx, r.id)
	return s.showCoupon(c), err
}

func (s *Server) audit(ctx context.Context, r couponPath) (any, error) {
	return s.deps.Auditor.Audit(ctx, r.id)
}

func (s *Server) repair(ctx context.Context, r adminCouponRequest) (any, error) {
	return s.deps.Auditor.Repair(ctx, r.id)
}
