package store

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
)

// buyersOf reads all pages of a loading, of two rows each, and of one page's size.
func buyersOf(t *testing.T, s *subject, l coupon.Load) map[int64]int {
	t.Helper()
	small, large := paged(t, s, l, 2), paged(t, s, l, buyersPage)
	require.Equal(t, large, small, "whatever the pages")
	return large
}

func paged(t *testing.T, s *subject, l coupon.Load, limit int) map[int64]int {
	t.Helper()
	all := map[int64]int{}
	for after := int64(math.MinInt64); ; {
		page, err := s.Coupons().buyers(t.Context(), l.CouponID, l.Epoch, after, limit)
		require.NoError(t, err)
		if page.Through == after {
			return all
		}
		require.Greater(t, page.Through, after)
		for _, b := range page.Buyers {
			require.Zero(t, all[b.UserID], "each user is in one page")
			require.True(t, after < b.UserID && b.UserID <= page.Through)
			all[b.UserID] = b.Units
		}
		after = page.Through
	}
}

// What is cancelled after the epoch began comes back as a return of that epoch, which
// takes the buyer's count back: so whoever counts later counts it still, whenever that is.
func TestBuyers_ReadLater_AreThoseAtTheEpochsStart(t *testing.T) {
	onBoth(t, func(t *testing.T, s *subject) {
		c := onSale(t, s, 20)
		for id := int64(1); id <= 6; id++ {
			placed(t, s, c, 10*id, id)
		}
		placed(t, s, c, 100, 0) // whatever a user's id is
		placed(t, s, c, 101, -1)
		second := placed(t, s, c, 21, 2)
		gone := placed(t, s, c, 31, 3)
		_, err := cancelOrder(t.Context(), s, gone)
		require.NoError(t, err, "before the epoch: it is a return of the one before")
		want := map[int64]int{-1: 1, 0: 1, 1: 1, 2: 2, 3: 1, 4: 1, 5: 1, 6: 1}

		load, err := s.Coupons().NextEpoch(t.Context(), c.ID, c.Epoch, 4, coupon.KeepState)
		require.NoError(t, err)
		require.Equal(t, int64(20-9), load.Units)
		require.Equal(t, want, buyersOf(t, s, load))
		for _, o := range []int64{10, 60, second.ID} {
			o, err := s.Get(t.Context(), o, map[int64]int64{10: 1, 60: 6, second.ID: 2}[o])
			require.NoError(t, err)
			_, err = cancelOrder(t.Context(), s, o)
			require.NoError(t, err)
			require.Equal(t, want, buyersOf(t, s, load))
			again, err := s.Coupons().Resume(t.Context(), c.ID, load.Epoch)
			require.NoError(t, err)
			require.Equal(t, load, again, "and so is what is left")
		}
	})
}

func TestResumeLoading_OnlyInProgress_IsResumed(t *testing.T) {
	onBoth(t, func(t *testing.T, s *subject) {
		c := onSale(t, s, 5)
		_, err := s.Coupons().Resume(t.Context(), c.ID, c.Epoch)
		require.ErrorIs(t, err, coupon.ErrConflict, "it is loaded")
		load, err := s.Coupons().NextEpoch(t.Context(), c.ID, c.Epoch, 4, coupon.KeepState)
		require.NoError(t, err)
		_, err = s.Coupons().Resume(t.Context(), c.ID, c.Epoch)
		require.ErrorIs(t, err, coupon.ErrConflict, "of another epoch")
		_, err = s.Coupons().Resume(t.Context(), c.ID, load.Epoch)
		require.NoError(t, err)
		_, err = s.Coupons().Change(t.Context(), c.ID, func(c *coupon.Coupon) error { c.Opening = true; return nil })
		require.NoError(t, err)
		_, err = s.Coupons().Resume(t.Context(), c.ID, load.Epoch)
		require.ErrorIs(t, err, coupon.ErrConflict, "some shards may be open: what came back may be in them")
		_, err = s.Coupons().NextEpoch(t.Context(), c.ID, c.Epoch, 4, coupon.KeepState)
		require.ErrorIs(t, err, coupon.ErrConflict, "another has begun an epoch since")
	})
}
