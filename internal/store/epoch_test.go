package store

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

func TestBeginEpoch_New_ClosesSaleAndReturnsTotals(t *testing.T) {
	onBoth(t, func(t *testing.T, s *subject) {
		for n, state := range []coupon.State{coupon.Draft, coupon.OnSale, coupon.Paused, coupon.Draft, coupon.OnSale, coupon.Paused} {
			c, open := onSale(t, s, 10), n >= 3
			raw(t, s, "UPDATE coupons SET state = ? WHERE id = ?", state, c.ID)
			base := 100 * c.ID
			placed(t, s, c, base+1, base+1)
			placed(t, s, c, base+2, base+1)
			o := placed(t, s, c, base+3, base+2)
			_, err := cancelOrder(t.Context(), s, o)
			require.NoError(t, err)
			_, err = pay(t.Context(), s, placed(t, s, c, base+4, base+3), begins)
			require.NoError(t, err)
			require.NoError(t, s.Void(t.Context(), wish(c, base+5, base+4)))

			load, err := s.Coupons().NextEpoch(t.Context(), c.ID, c.Epoch, 6, coupon.AfterLoad(open))
			require.NoError(t, err)
			require.Equal(t, coupon.Load{CouponID: c.ID, Epoch: 2, Shards: 6, Units: 7}, load)
			require.Equal(t, map[int64]int{base + 1: 2, base + 3: 1}, buyersOf(t, s, load))
			found, err := s.Coupons().Find(t.Context(), c.ID)
			require.NoError(t, err)
			if open {
				state = coupon.OnSale
			}
			require.Equal(t, state, found[0].State)
			require.True(t, found[0].Loading)
			require.ErrorIs(t, coupon.Coupon{State: coupon.OnSale, Loading: true, EndsAt: begins.Add(1)}.CheckPurchasable(begins), coupon.ErrNotLoaded)
			require.Equal(t, []int{2, 6}, []int{int(found[0].Epoch), found[0].Shards})
			require.ErrorIs(t, place(t.Context(), s, c, wish(c, base+6, base+6)), order.ErrStaleEpoch)
		}
		_, err := s.Coupons().NextEpoch(t.Context(), 999, 1, 6, coupon.KeepState)
		require.ErrorIs(t, err, coupon.ErrNotFound)

		over := onSale(t, s, 10)
		raw(t, s, "UPDATE coupons SET state = ? WHERE id = ?", coupon.Ended, over.ID)
		_, err = s.Coupons().NextEpoch(t.Context(), over.ID, over.Epoch, 6, coupon.PutOnSale)
		require.ErrorIs(t, err, coupon.ErrConflict)
		found, err := s.Coupons().Find(t.Context(), over.ID)
		require.NoError(t, err)
		over.State = coupon.Ended
		require.Equal(t, over, found[0], "nothing is written")
	})
}

// An order is on one side of the line or on the other: counted in the load, or refused.
func TestBeginEpoch_OrdersInProgress_AreOfOneEpoch(t *testing.T) {
	onBoth(t, func(t *testing.T, s *subject) {
		const rounds, buyers = 6, 8
		for round := range int64(rounds) {
			c := onSale(t, s, 100)
			var load coupon.Load
			all := []func() error{func() (err error) {
				load, err = s.Coupons().NextEpoch(t.Context(), c.ID, c.Epoch, 4, coupon.KeepState)
				return err
			}}
			for i := range int64(buyers) {
				all = append(all, func() error { return place(t.Context(), s, c, wish(c, 100*(round+1)+i, i+1)) })
			}
			errs := together(all...)
			require.NoError(t, errs[0])
			bought := map[int64]int{}
			for i, err := range errs[1:] {
				if err == nil {
					bought[int64(i+1)] = 1
				} else {
					require.ErrorIs(t, err, order.ErrStaleEpoch)
				}
			}
			require.Equal(t, bought, buyersOf(t, s, load))
			require.Equal(t, int64(100-len(bought)), load.Units)
			left(t, s, c)
		}
	})
}

func TestBeginEpoch_OrderHoldsUnit_Waits(t *testing.T) {
	onBoth(t, func(t *testing.T, s *subject) {
		c := onSale(t, s, 10)
		loads := make(chan coupon.Load, 1)
		err := placeAnd(t.Context(), s, c, wish(c, 1, 1), func(context.Context) error {
			untilItWaits(t, s, func() {
				load, _ := s.Coupons().NextEpoch(t.Context(), c.ID, c.Epoch, 4, coupon.KeepState)
				loads <- load
			})
			require.Empty(t, loads)
			return nil
		})
		require.NoError(t, err)
		load := <-loads
		require.Equal(t, coupon.Load{CouponID: c.ID, Epoch: 2, Shards: 4, Units: 9}, load)
		require.Equal(t, map[int64]int{1: 1}, buyersOf(t, s, load))
	})
}

// The time is the one that is told, whatever the machine's clock says.
func TestLoaded_CouponEnded_ListedForOneDay(t *testing.T) {
	onBoth(t, func(t *testing.T, s *subject) {
		now := begins.AddDate(10, 0, 0)
		var listed, freed []int64
		for _, tc := range []struct {
			epoch      int64
			ends       time.Time
			state      coupon.State
			list, free bool
		}{
			{0, now.Add(time.Hour), coupon.Draft, false, false},
			{1, now.Add(time.Hour), coupon.OnSale, true, false},
			{3, now.Add(time.Hour), coupon.Paused, true, false},
			{1, now.Add(time.Hour), coupon.Ended, true, true},
			{1, now.Add(-23 * time.Hour), coupon.Ended, true, false},
			{1, now.Add(-25 * time.Hour), coupon.Ended, false, true},
		} {
			c := onSale(t, s, 1)
			raw(t, s, "UPDATE coupons SET epoch = ?, ends_at = ?, state = ? WHERE id = ?", tc.epoch, tc.ends.UTC(), tc.state, c.ID)
			if tc.list {
				listed = append(listed, c.ID)
			}
			if tc.free {
				freed = append(freed, c.ID)
			}
		}
		loaded, err := s.Coupons().Loaded(t.Context(), now)
		require.NoError(t, err)
		require.Equal(t, listed, idsOf(loaded))
		spent, err := s.Coupons().Freeable(t.Context(), now, 10)
		require.NoError(t, err)
		require.Equal(t, freed, idsOf(spent))
	})
}

func idsOf(all []coupon.Coupon) (ids []int64) {
	for _, c := range all {
		ids = append(ids, c.ID)
	}
	return ids
}

// A restock reads the epoch before it raises the stock. An epoch that ends in between has counted the order as
// live, so the unit belongs to the next one, in the stock and in the outbox.
func TestRestock_EpochEndsMeanwhile_UnitIsOfTheNextEpoch(t *testing.T) {
	s := onMariaDB(t)
	c := onSale(t, s, 10)
	o := placed(t, s, c, 1, 1)
	ending := session(t, s, fmt.Sprintf("UPDATE coupons SET epoch = 3 WHERE id = %d", c.ID))
	done := make(chan error, 1)
	untilItWaits(t, s, func() {
		_, err := cancelOrder(context.WithoutCancel(t.Context()), s, o)
		done <- err
	})
	require.NoError(t, ending.Commit())
	require.NoError(t, <-done)
	b, err := booksOf(t.Context(), s, c.ID)
	require.NoError(t, err)
	require.Len(t, b.Due, 1)
	require.EqualValues(t, 3, b.Due[0].Epoch)
	require.EqualValues(t, 10, b.Coupon.Left)
}
