package store

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

func TestFence_Place_GrowsAndRefusesSmaller(t *testing.T) {
	onBoth(t, func(t *testing.T, s *subject) {
		c, id := onSale(t, s, 10), int64(0)
		c.LimitPerUser = 10
		fence := func(user int64, fence uint64) error {
			id++
			o := wish(c, id, user)
			o.Fence = fence
			return place(t.Context(), s, c, o)
		}
		const micros = 1_800_000_000_000_000 // what fences are: microseconds of today and later
		require.NoError(t, fence(1, micros), "the first")
		require.NoError(t, fence(1, micros), "the same once more, as a retry brings it")
		require.NoError(t, fence(1, micros+5), "a larger one")
		err := fence(1, micros+4)
		require.ErrorIs(t, err, order.ErrStaleFence)
		var stale *order.StaleFenceError
		require.ErrorAs(t, err, &stale)
		require.Equal(t, order.StaleFenceError{Given: micros + 4, Seen: micros + 5}, *stale)
		require.NoError(t, fence(2, 1), "another user's is another's")
		require.NoError(t, fence(1, micros+5), "the refusal changed nothing")
		stock, live := left(t, s, c)
		require.Equal(t, []int64{5, 5}, []int64{stock, live})
	})
}

func TestFence_FirstOnesAtOnce_KeepLargest(t *testing.T) {
	onBoth(t, func(t *testing.T, s *subject) {
		c := onSale(t, s, 100)
		c.LimitPerUser = 4
		for user := range int64(15) {
			var all []func() error
			for fence := range uint64(4) {
				o := wish(c, 10*user+int64(fence)+1, user)
				o.Fence = fence + 1
				all = append(all, func() error { return place(t.Context(), s, c, o) })
			}
			for fence, err := range together(all...) {
				if err != nil {
					require.ErrorIs(t, err, order.ErrStaleFence)
					require.Less(t, fence, 3, "the largest is never stale")
				}
			}
			var row fenceRow
			require.NoError(t, s.read.Take(&row, "user_id = ?", user).Error)
			require.Equal(t, uint64(4), row.Fence)
		}
	})
}

func TestPlace_Slot_IsTheLowestFreeUpToLimit(t *testing.T) {
	onBoth(t, func(t *testing.T, s *subject) {
		c := onSale(t, s, 10)
		c.LimitPerUser = 3
		slot := func(id, user int64) int {
			o := wish(c, id, user)
			o.Slot = 9 // the committer says which it is
			a := attempt(c, o)
			s.committer.Place(t.Context(), []*order.Attempt{a})
			require.NoError(t, a.Err)
			o, err := s.Get(t.Context(), id, user)
			require.NoError(t, err)
			require.Equal(t, o.Slot, a.Order.Slot)
			return o.Slot
		}
		for want := 1; want <= 3; want++ {
			require.Equal(t, want, slot(int64(want), 1))
		}
		require.ErrorIs(t, place(t.Context(), s, c, wish(c, 4, 1)), order.ErrLimitReached)
		require.Equal(t, 1, slot(5, 2), "another user's slots are another's")
		_, err := cancelOrder(t.Context(), s, wish(c, 2, 1))
		require.NoError(t, err)
		require.Equal(t, 2, slot(6, 1), "the gap, and not the slot after the last")
		left(t, s, c)
	})
}

func TestPlace_SameRequest_MakesOneOrder(t *testing.T) {
	onBoth(t, func(t *testing.T, s *subject) {
		c := onSale(t, s, 10)
		placed(t, s, c, 1, 1)
		again := wish(c, 2, 1)
		again.RequestID = "r1"
		require.ErrorIs(t, place(t.Context(), s, c, again), order.ErrDuplicate)
		again.RequestID = "R1"
		require.NoError(t, place(t.Context(), s, c, again), "ids that differ in case are two")
		placed(t, s, c, 5, 5)
		taken := wish(c, 5, 5)
		taken.RequestID = "another"
		require.ErrorIs(t, place(t.Context(), s, c, taken), order.ErrDuplicate, "an order's id is given once to a user")
		_, err := s.ByRequest(t.Context(), "another", 5)
		require.ErrorIs(t, err, order.ErrNotFound, "and that can be told apart")
		stock, live := left(t, s, c)
		require.Equal(t, []int64{7, 3}, []int64{stock, live})
	})
}

// Here the lock lets everybody in: the transactions of one user meet.
func TestPlace_SlotTakenMeanwhile_LooksAgain(t *testing.T) {
	onEach(t, func(t *testing.T, s *subject) {
		c := onSale(t, s, 10)
		runs := 0
		err := s.InTx(t.Context(), func(ctx context.Context, tx order.Tx) error {
			o := wish(c, 2, 1)
			if runs++; runs > 1 {
				return placing(ctx, tx, c, o)
			}
			// The first time the slot is one that an order has already.
			if err := placing(ctx, tx, c, wish(c, 1, 1)); err != nil {
				return err
			}
			return tx.Insert(ctx, o)
		})
		require.NoError(t, err)
		require.Equal(t, 2, runs)
		stock, live := left(t, s, c)
		require.Equal(t, []int64{9, 1}, []int64{stock, live}, "the first run is rolled back as a whole")
	})
}

func TestPlace_AllRequestsOfAUser_KeepLimit(t *testing.T) {
	onBoth(t, func(t *testing.T, s *subject) {
		c := onSale(t, s, 50)
		for user := range int64(6) {
			var all []func() error
			for i := range int64(6) {
				all = append(all, func() error { return place(t.Context(), s, c, wish(c, 100*(user+1)+i, user+1)) })
			}
			bought := 0
			for _, err := range together(all...) {
				if err == nil {
					bought++
				} else if !errors.Is(err, order.ErrLimitReached) {
					require.ErrorIs(t, err, order.ErrUnavailable, "it met the others at every try")
				}
			}
			require.LessOrEqual(t, bought, c.LimitPerUser)
			require.Positive(t, bought)
		}
		b, err := booksOf(t.Context(), s, c.ID)
		require.NoError(t, err)
		require.Zero(t, b.OverLimit)
		left(t, s, c)
	})
}

func TestTakeStock_EachCase_TakesUnitOrReportsWhy(t *testing.T) {
	onBoth(t, func(t *testing.T, s *subject) {
		c, empty := onSale(t, s, 1), onSale(t, s, 1)
		placed(t, s, empty, 1, 1)
		for name, tc := range map[string]struct {
			coupon, epoch, id int64
			want              error
		}{
			"of a coupon that is not there": {999, 1, 2, coupon.ErrNotFound},
			"of an epoch that is over":      {c.ID, 0, 3, order.ErrStaleEpoch},
			"of an epoch to come":           {c.ID, 2, 4, order.ErrStaleEpoch},
			"when none is left":             {empty.ID, 1, 5, coupon.ErrSoldOut},
			"when one is left":              {c.ID, 1, 6, nil},
		} {
			of := c
			of.ID, of.Epoch = tc.coupon, tc.epoch
			require.ErrorIs(t, place(t.Context(), s, of, wish(of, tc.id, tc.id)), tc.want, name)
		}
		left(t, s, c)
		found, err := s.Coupons().Find(t.Context(), c.ID, empty.ID)
		require.NoError(t, err)
		require.Zero(t, found[0].Left)
		require.Zero(t, found[1].Left)
	})
}

func TestPlace_FiftyBuyersTwentyUnits_SellsTwenty(t *testing.T) {
	onBoth(t, func(t *testing.T, s *subject) {
		c := onSale(t, s, 20)
		var all []func() error
		for id := range int64(50) {
			all = append(all, func() error { return place(t.Context(), s, c, wish(c, id+1, id+1)) })
		}
		bought := 0
		for _, err := range together(all...) {
			if err == nil {
				bought++
				continue
			}
			require.ErrorIs(t, err, coupon.ErrSoldOut)
		}
		require.Equal(t, 20, bought)
		stock, live := left(t, s, c)
		require.Equal(t, []int64{0, 20}, []int64{stock, live})
	})
}
