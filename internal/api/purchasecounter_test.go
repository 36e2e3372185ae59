package api

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/api/auth"
	"example.com/seckill/internal/coupon"
)

func TestPurchaseCounter_ExistingCoupon_CountsEveryAnswer(t *testing.T) {
	sh := newShop()
	s := sh.serve(t, Options{})
	buy := func(couponID string, err error) {
		t.Helper()
		sh.say = func(context.Context) error { return err }
		do(t, s, ask{method: http.MethodPost, path: "/api/v1/coupons/" + couponID + "/orders", token: sign(t, s, 42, auth.RoleUser)})
	}
	buy("1", nil)
	buy("1", coupon.ErrSoldOut)
	buy("99", coupon.ErrNotFound)

	sh.say = nil
	event, _ := s.hub.poll(t.Context(), 1, &rateMeter{})
	var e saleEvent
	_, data, _ := strings.Cut(string(event), "data: ")
	require.NoError(t, json.Unmarshal([]byte(data), &e))
	require.EqualValues(t, 2, e.Taps)
	_, known := s.hub.purchases.by.Load(int64(99))
	require.False(t, known, "an id that was made up takes no memory")
}
