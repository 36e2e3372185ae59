package api

import (
	"context"
	"encoding/json"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/api/auth"
	"example.com/seckill/internal/coupon"
)

// counted tells of one coupon.
type counted struct {
	id   int64
	told *SoldOut
}

func (c counted) Unpaid(id int64) *SoldOut {
	if id != c.id {
		return nil
	}
	return c.told
}

func TestSaleEvent_SoldOut_HasUnpaidOrders(t *testing.T) {
	until := time.Date(2030, 1, 31, 17, 15, 0, 123_999_999, time.UTC)
	for name, tc := range map[string]struct {
		told   *SoldOut
		detail string
		more   map[string]any
	}{
		"some":      {NewSoldOut(3, until), "No unit is left for now: some orders are not paid yet.", map[string]any{"unpaid_orders": 3.0, "unpaid_until": "2030-01-31T17:15:00.123Z"}},
		"none":      {NewSoldOut(0, time.Time{}), "No unit is left.", map[string]any{"unpaid_orders": 0.0}},
		"not known": {nil, "No unit is left.", map[string]any{}},
	} {
		t.Run(name, func(t *testing.T) {
			sh := newShop()
			sh.left = []int64{0, 0, 0, 0}
			s := sh.serve(t, Options{})
			s.deps.Unpaid, s.hub.unpaid = counted{1, tc.told}, counted{1, tc.told}
			event, _ := s.hub.poll(t.Context(), 1, &rateMeter{})
			for member, want := range tc.more {
				require.Contains(t, string(event), `"`+member+`":`)
				require.NotNil(t, want)
			}
			sh.say = func(context.Context) error { return coupon.ErrSoldOut }
			rec := do(t, s, ask{method: "POST", path: place, token: sign(t, s, 42, auth.RoleUser)})
			require.Equal(t, 409, rec.Code)
			want := map[string]any{
				"type": "urn:seckill:problem:sold_out", "title": "Conflict", "status": 409.0, "code": "sold_out", "detail": tc.detail,
			}
			maps.Copy(want, tc.more)
			var got map[string]any
			require.NoError(t, json.Unmarshal(rec.Body.Bytes(), &got))
			require.Equal(t, want, got)
			require.Equal(t, "no-store", rec.Header().Get("Cache-Control"))
		})
	}
}

func TestSaleEvent_UnitsLeft_OmitsUnpaidOrders(t *testing.T) {
	sh := newShop()
	s := sh.serve(t, Options{})
	s.hub.unpaid = counted{1, NewSoldOut(3, sh.now)}
	event, _ := s.hub.poll(t.Context(), 1, &rateMeter{})
	require.NotContains(t, string(event), "unpaid")
	sh.left = []int64{0, 0, 0, 1}
	event, _ = s.hub.poll(t.Context(), 1, &rateMeter{})
	require.NotContains(t, string(event), "unpaid", "one shard has a unit")
}
