package api

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/api/auth"
	"example.com/seckill/internal/order"
)

// diary keeps the way of order 7 of user 42.
type diary struct{}

func (diary) Steps(id, user int64) []Step {
	if id != 7 || user != 42 {
		return nil
	}
	began := time.Unix(1e9, 0)
	return []Step{
		{Name: "place", Began: began, Took: 3 * time.Millisecond},
		{Name: "transaction", Began: began.Add(time.Millisecond), Took: 1500 * time.Microsecond, Orders: 12, Failed: true},
	}
}

func (d diary) Latest(couponID int64) []Step {
	if couponID != 1 {
		return nil
	}
	return d.Steps(7, 42)
}

// numbers counts every order as the 37th.
type numbers struct{}

func (numbers) OrderNumber(context.Context, int64, int64) (int64, error) { return 37, nil }

func TestOrderTrace_LiveOrder_TellsItsNumber(t *testing.T) {
	sh := newShop()
	sh.orders[7] = order.Order{ID: 7, CouponID: 1, UserID: 42, Status: order.Pending, CreatedAt: sh.now}
	s := sh.serve(t, Options{})
	s.deps.Traces, s.deps.Numbers = diary{}, numbers{}
	read := func() string {
		return do(t, s, ask{method: "GET", path: "/api/v1/orders/7/trace", token: sign(t, s, 42, auth.RoleUser)}).Body.String()
	}
	require.Contains(t, read(), `"number":37`)

	c := sh.coupons[1]
	c.Total = maxNumbered + 1
	sh.coupons[1] = c
	require.NotContains(t, read(), `"number"`, "to count so many orders costs too much")
	c.Total = 100
	sh.coupons[1] = c
	sh.orders[7] = order.Order{ID: 7, CouponID: 1, UserID: 42, Status: order.Cancelled}
	require.NotContains(t, read(), `"number"`, "a cancelled order has no place")
}

func TestTraceRoute_OtherUser_IsNotFound(t *testing.T) {
	s := newShop().serve(t, Options{DemoLogin: true})
	path := ask{method: "GET", path: "/api/v1/orders/7/trace", token: sign(t, s, 42, auth.RoleUser)}
	rec := do(t, s, path)
	require.Equal(t, 404, rec.Code, "none is kept")
	s.deps.Traces = diary{}
	rec = do(t, s, path)
	require.Equal(t, 200, rec.Code)
	require.JSONEq(t, `{"steps":[{"step":"place","begin_us":0,"took_us":3000},
		{"step":"transaction","begin_us":1000,"took_us":1500,"orders":12,"failed":true}]}`, rec.Body.String())
	path.token = sign(t, s, 43, auth.RoleUser)
	require.Equal(t, 404, do(t, s, path).Code)
	path.token = ""
	require.Equal(t, 401, do(t, s, path).Code)
	require.Contains(t, do(t, s, ask{method: "GET", path: "/api/v1/features"}).Body.String(), `"traces":true`)
}
