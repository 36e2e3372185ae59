package order_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

func TestPurchasePermit_Expired_OnlyFindsTheOrder(t *testing.T) {
	onEach(t, func(t *testing.T, s *shop) {
		c := s.sell(t, 3, 3)
		permitted := func(begins time.Time, left time.Duration, key string) order.Request {
			r := wish(c, 7, key)
			r.Permit = order.Permit{BeginsAt: begins, Until: time.Now().Add(left)}
			return r
		}
		first, err := s.Place(t.Context(), permitted(c.BeginsAt, time.Minute, "one"))
		require.NoError(t, err)

		_, err = s.Place(t.Context(), permitted(c.BeginsAt, -time.Second, "two"))
		require.ErrorIs(t, err, order.ErrPermitExpired)
		_, err = s.Place(t.Context(), permitted(c.BeginsAt.Add(time.Minute), time.Minute, "three"))
		require.ErrorIs(t, err, order.ErrOtherSale)

		for _, again := range []order.Request{
			permitted(c.BeginsAt, time.Minute, "one"), permitted(c.BeginsAt, -time.Minute, "one"),
			permitted(c.BeginsAt.Add(time.Hour), time.Minute, "one"),
		} {
			o, err := s.Place(t.Context(), again)
			require.NoError(t, err, "the answer to the first may have been lost")
			require.Equal(t, first.ID, o.ID)
		}
		s.atRest(t, c, 1)

		ends := time.Now().Add(-time.Second)
		s.patch(t, c, coupon.Change{EndsAt: &ends})
		_, err = s.Place(t.Context(), permitted(c.BeginsAt, -time.Second, "four"))
		require.ErrorIs(t, err, coupon.ErrEnded, "what the sale says comes first")
	})
}
