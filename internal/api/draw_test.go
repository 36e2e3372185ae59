package api

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/order"
)

// drawn is the draw of coupon 1.
type drawn struct {
	order.Draw

	at time.Time
}

func (d *drawn) ReadDraw(_ context.Context, couponID int64) (order.Draw, time.Time, error) {
	if couponID != 1 {
		return order.Draw{}, time.Time{}, order.ErrNotFound
	}
	return d.Draw, d.at, nil
}

func TestTheSeedOfADrawIsToldWhenItHasEnded(t *testing.T) {
	shop := newShop()
	d := &drawn{Draw: order.Draw{CouponID: 1, Seed: bytes.Repeat([]byte{7}, 32)}, at: shop.now.Add(time.Second)}
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

func TestATicketHasNoPlaceInAQueueAndTellsWhenItIsDrawn(t *testing.T) {
	at := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	o := order.Order{ID: 1, CouponID: 1, UserID: 1, Status: order.Queued, DrawsAt: at}
	o.Position.RetryAfter = 7 * time.Second
	j := showOrder(o)
	require.Equal(t, at, *j.DrawsAt)
	require.Zero(t, j.Position)
	require.Equal(t, []string{"7"}, j.retryAfter())
}
