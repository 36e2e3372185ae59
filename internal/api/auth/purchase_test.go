package auth

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// sale is a coupon on sale, and a clock beside its purchase tokens.
type sale struct {
	*PurchaseTokens
	coupon coupon.Coupon
	time   time.Time
}

func newSale(t *testing.T) *sale {
	t.Helper()
	s := &sale{coupon: coupon.Coupon{ID: 1, State: coupon.OnSale, BeginsAt: tokenTime, EndsAt: tokenTime.Add(time.Hour)}}
	o := PurchaseOptions{
		Secrets: [][]byte{make([]byte, MinSecret)}, TTL: time.Minute, Lead: 10 * time.Second, Now: func() time.Time { return s.time },
	}
	var err error
	s.PurchaseTokens, err = o.PurchaseTokens()
	require.NoError(t, err)
	return s
}

func TestPurchaseToken_Issue_OnlyAroundTheSale(t *testing.T) {
	s := newSale(t)
	c := s.coupon
	for at, want := range map[time.Time]error{
		c.BeginsAt.Add(-11 * time.Second): coupon.ErrNotStarted, c.BeginsAt.Add(-9 * time.Second): nil, c.BeginsAt: nil,
		c.EndsAt.Add(-11 * time.Second): nil, c.EndsAt: coupon.ErrEnded,
	} {
		s.time = at
		token, _, err := s.Issue(c, 42)
		require.ErrorIs(t, err, want)
		require.Equal(t, want == nil, token != "")
	}
	c.State = coupon.Paused
	s.time = c.BeginsAt
	_, _, err := s.Issue(c, 42)
	require.NoError(t, err, "it may go on any moment")
	c.State = coupon.Draft
	_, _, err = s.Issue(c, 42)
	require.ErrorIs(t, err, coupon.ErrNotFound)
}

func TestPurchaseToken_OtherSaleOrTime_IsRefused(t *testing.T) {
	s := newSale(t)
	c := s.coupon
	permit := func(at time.Time) order.Permit {
		s.time = at
		token, expires, err := s.Issue(c, 42)
		require.NoError(t, err)
		r := order.Request{UserID: 42, CouponID: c.ID}
		require.NoError(t, s.Permit(&r, token))
		require.True(t, strings.HasPrefix(r.Key, "purchase:"))
		require.True(t, expires.Equal(r.Permit.Until))
		require.True(t, r.Permit.BeginsAt.Equal(c.BeginsAt.Truncate(time.Millisecond)))
		return r.Permit
	}
	require.WithinRange(t, permit(c.BeginsAt.Add(-5*time.Second)).Until, c.BeginsAt.Add(time.Minute), c.BeginsAt.Add(61*time.Second))
	later := c.BeginsAt.Add(10 * time.Second)
	require.WithinRange(t, permit(later).Until, later.Add(time.Minute), later.Add(61*time.Second))
}

func TestPurchaseTokens_NoSecretOrTTL_AreRefused(t *testing.T) {
	for _, o := range []PurchaseOptions{
		{TTL: time.Minute}, {Secrets: [][]byte{make([]byte, MinSecret)}}, {TTL: time.Minute, Secrets: [][]byte{make([]byte, MinSecret-1)}},
	} {
		_, err := o.PurchaseTokens()
		require.Error(t, err)
	}
}

func FuzzPurchaseToken_AnyText_IsReadOrRefused(f *testing.F) {
	p, err := PurchaseOptions{Secrets: [][]byte{make([]byte, MinSecret)}, TTL: time.Minute}.PurchaseTokens()
	require.NoError(f, err)
	now := time.Now()
	good, _, err := p.Issue(coupon.Coupon{ID: 1, State: coupon.OnSale, BeginsAt: now, EndsAt: now.Add(time.Hour)}, 42)
	require.NoError(f, err)
	f.Add(good)
	f.Add("a.b.c")
	f.Fuzz(func(t *testing.T, token string) {
		r := order.Request{UserID: 42, CouponID: 1}
		if err := p.Permit(&r, token); err == nil && token != good {
			t.Fatalf("%q is believed", token)
		}
	})
}

func BenchmarkPermit(b *testing.B) {
	p, err := PurchaseOptions{Secrets: [][]byte{make([]byte, MinSecret)}, TTL: time.Minute}.PurchaseTokens()
	require.NoError(b, err)
	now := time.Now()
	token, _, err := p.Issue(coupon.Coupon{ID: 1, State: coupon.OnSale, BeginsAt: now, EndsAt: now.Add(time.Hour)}, 42)
	require.NoError(b, err)
	for b.Loop() {
		r := order.Request{UserID: 42, CouponID: 1}
		if err := p.Permit(&r, token); err != nil {
			b.Fatal(err)
		}
	}
}
