package coupon_test

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
)

func TestRepair_Sale_OpensOnlyOpenSales(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		for _, state := range []coupon.State{coupon.Draft, coupon.OnSale, coupon.Paused} {
			before := s.inState(t, state)
			require.NoError(t, s.redis.FlushAll(t.Context()).Err())
			c, err := s.Reload(t.Context(), before.ID)
			require.NoError(t, err)
			require.Equal(t, state, c.State)
			require.Equal(t, before.Epoch+1, c.Epoch)
			s.balanced(t, c.ID)
		}
	})
}

func TestRepair_OrdersInProgress_LosesNoUnit(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		const units, buyers, each = 60, 6, 20
		c := s.published(t, units)
		var id atomic.Int64
		var all []func() error
		for buyer := range int64(buyers) {
			all = append(all, func() error {
				for i := range int64(each) {
					sale, err := s.Read(t.Context(), c.ID)
					if err != nil {
						return err
					}
					if sale.CheckPurchasable(during) == nil {
						_ = s.buy(t.Context(), sale, id.Add(1), 1000*buyer+i) // refused or not: the balance tells
					}
				}
				return nil
			})
		}
		all = append(all, func() error {
			for range 6 {
				if _, err := s.Reload(t.Context(), c.ID); err != nil {
					return err
				}
			}
			return nil
		})
		for _, err := range together(all...) {
			require.NoError(t, err)
		}
		sale := s.now(t, c.ID)
		require.Equal(t, coupon.OnSale, sale.State)
		require.Equal(t, c.Epoch+6, sale.Epoch)
		t.Logf("%d sold meanwhile", s.balanced(t, c.ID))

		for n := int64(0); s.buy(t.Context(), sale, id.Add(1), 1_000_000+n) == nil; n++ {
			require.Less(t, n, int64(units))
		}
		require.Equal(t, int64(units), s.balanced(t, c.ID), "and every unit can be sold")
	})
}
