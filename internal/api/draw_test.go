package api

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/api/auth"
	"example.com/seckill/internal/lottery"
	"example.com/seckill/internal/order"
)

// drawn is the draw of coupon 1.
type drawn struct {
	lottery.Draw

	at time.Time
}

func (d *drawn) ReadDraw(_ context.Context, couponID int64) (lottery.Draw, time.Time, error) {
	if couponID != 1 {
		return lottery.Draw{}, time.Time{}, order.ErrNotFound
	}
	return d.Draw, d.at, nil
}

func (d *drawn) DrawsAt(context.Context, int64) (time.Time, error) { return d.at, nil }

func TestDrawRoute_DrawEnds_RevealsSeed(t *testing.T) {
	shop := newShop()
	d := &drawn{Draw: lottery.Draw{CouponID: 1, Seed: bytes.Repeat([]byte{7}, 32)}, at: shop.now.Add(time.Second)}
	s := shop.serve(t, Options{})
	s.deps.Draws = d
	rec := do(t, s, ask{method: "GET", path: "/api/v1/coupons/1/draw"})
	require.Equal(t, 200, rec.Code, rec.Body)
	require.Contains(t, rec.Body.String(), d.SeedHash())
	require.NotContains(t, rec.Body.String(), strings.Repeat("07", 32), "before the draw")
	require.Equal(t, 404, do(t, s, ask{method: "GET", path: "/api/v1/coupons/2/draw"}).Code)

	d.BegunAt, d.EndedAt, d.Entrants, d.Winners, d.LastRank = shop.now, shop.now, 9, 5, strings.Repeat("0a", 32)
	s = shop.serve(t, Options{}) // what was shared is a second old
	s.deps.Draws = d
	rec = do(t, s, ask{method: "GET", path: "/api/v1/coupons/1/draw"})
	for _, told := range []string{strings.Repeat("07", 32), `"entrants":9`, `"winners":5`, d.LastRank, "ended_at"} {
		require.Contains(t, rec.Body.String(), told)
	}
	require.Equal(t, 404, do(t, shop.serve(t, Options{}), ask{method: "GET", path: "/api/v1/coupons/1/draw"}).Code, "nothing is drawn")
}

func TestLotteryTicket_Poll_HasDrawTimeAndNoPosition(t *testing.T) {
	shop := newShop()
	at := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	o := order.Order{ID: 1, CouponID: 1, UserID: 1, Status: lottery.Entered, RequestID: "r1", CreatedAt: at, ExpiresAt: at}
	o.Position.RetryAfter = 7 * time.Second
	s := shop.serve(t, Options{})
	s.deps.Draws, s.deps.Orders = &drawn{at: at}, entered{s.deps.Orders, o}
	token := sign(t, s, 1, auth.RoleUser)
	for _, a := range []ask{{method: "POST", path: place, token: token}, {method: "GET", path: "/api/v1/orders/1", token: token}} {
		rec := do(t, s, a)
		require.Equal(t, "7", rec.Header().Get("Retry-After"))
		require.JSONEq(t, `{"id":"1","coupon_id":"1","user_id":"1","status":"queued","price_cents":0,"request_id":"r1",
			"created_at":"2030-01-02T03:04:05Z","expires_at":"2030-01-02T03:04:05Z","draws_at":"2030-01-02T03:04:05Z"}`, rec.Body.String())
	}
}

// entered are orders that are a ticket each.
type entered struct {
	Orders

	ticket order.Order
}

func (e entered) Place(context.Context, order.Request) (order.Order, error) { return e.ticket, nil }
func (e entered) Get(context.Context, int64, int64) (order.Order, error)    { return e.ticket, nil }
