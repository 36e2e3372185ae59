package api

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"example.com/seckill/internal/api/auth"
	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// instant returns at once, so that only the package's own work is measured.
type instant struct {
	desk
	order order.Order
	err   error
}

func (i *instant) Place(context.Context, order.Request) (order.Order, error) { return i.order, i.err }

// discard is a writer that keeps nothing.
type discard struct{ h http.Header }

func (d *discard) Header() http.Header         { return d.h }
func (d *discard) Write(b []byte) (int, error) { return len(b), nil }
func (d *discard) WriteHeader(int)             {}

// BenchmarkPlace is the order route around an order path that takes no time.
func BenchmarkPlace(b *testing.B) {
	for name, err := range map[string]error{"accepted": nil, "sold out": coupon.ErrSoldOut, "sold out for now": coupon.ErrSoldOut} {
		b.Run(name, func(b *testing.B) {
			sh := newShop()
			parts := sh.parts()
			parts.Orders = &instant{err: err, order: order.Order{
				ID: 1 << 60, CouponID: 1, UserID: 42, Status: order.Pending, PriceCents: 990, RequestID: "r1152921504606846976",
				CreatedAt: sh.now, ExpiresAt: sh.now.Add(time.Minute),
			}}
			if name == "sold out for now" {
				parts.Unpaid = counted{1, NewSoldOut(1000, sh.now)}
			}
			tokens, err := auth.NewTokens(testSecret, time.Hour)
			if err != nil {
				b.Fatal(err)
			}
			s, err := New(Options{Tokens: tokens, MaxInFlight: 4096, PerUserRate: 1e6, Burst: 1e6}, parts)
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			req := httptest.NewRequest(http.MethodPost, place, nil)
			req.Header.Set("Authorization", "Bearer "+sign(b, s, 42, auth.RoleUser))
			req.Header.Set("Idempotency-Key", "3f0b1c52-7d0e-4a53-9a55-9f1f1fb9f0a1")
			bench(b, s.Handler(), req)
		})
	}
}

// BenchmarkBaselineRoute is gin answering JSON and nothing else, for comparison.
func BenchmarkBaselineRoute(b *testing.B) {
	releaseMode()
	engine := gin.New()
	engine.POST("/api/v1/coupons/:id/orders", func(c *gin.Context) { c.JSON(http.StatusCreated, gin.H{"id": "1"}) })
	bench(b, engine, httptest.NewRequest(http.MethodPost, place, nil))
}

func bench(b *testing.B, h http.Handler, req *http.Request) {
	b.ReportAllocs()
	w := &discard{h: http.Header{}}
	for b.Loop() {
		clear(w.h)
		h.ServeHTTP(w, req)
	}
}
