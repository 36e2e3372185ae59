package store

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// splitSale is a coupon whose units are split over so many shards in its second epoch.
func splitSale(t *testing.T, s *subject, units int64, shards int) coupon.Coupon {
	t.Helper()
	s.splitsStock = false
	c := onSale(t, s, units)
	s.splitsStock = true
	_, err := s.Coupons().NextEpoch(t.Context(), c.ID, c.Epoch, shards, coupon.KeepState)
	require.NoError(t, err)
	return reread(t, s, c)
}

func reread(t *testing.T, s *subject, c coupon.Coupon) coupon.Coupon {
	t.Helper()
	c, err := s.Coupon(t.Context(), c.ID)
	require.NoError(t, err)
	return c
}

// stocks is what each shard's row has, and the coupon's own.
func stocks(t *testing.T, s *subject, c coupon.Coupon) (rows []int64, own int64) {
	t.Helper()
	require.NoError(t, s.write.Model(&stockRow{}).Where("coupon_id = ?", c.ID).Order("shard").Pluck("stock", &rows).Error)
	require.NoError(t, s.write.Model(&couponRow{}).Where("id = ?", c.ID).Pluck("stock", &own).Error)
	return rows, own
}

// from is a wish for a unit of a shard.
func from(c coupon.Coupon, id int64, shard int) order.Order {
	o := wish(c, id, id)
	o.Shard = shard
	return o
}

func TestAnEpochSplitsTheStockOverItsShardsAndTheNextMergesIt(t *testing.T) {
	onEach(t, func(t *testing.T, s *subject) {
		c := splitSale(t, s, 10, 4)
		rows, own := stocks(t, s, c)
		require.Equal(t, []int64{3, 3, 2, 2}, rows)
		require.Zero(t, own)
		require.Equal(t, []int64{10, 4}, []int64{c.Left, int64(c.StockRows)})

		require.NoError(t, place(t.Context(), s, c, from(c, 1, 2)))
		load, err := s.Coupons().NextEpoch(t.Context(), c.ID, c.Epoch, 3, coupon.KeepState)
		require.NoError(t, err)
		require.Equal(t, []int64{9, 3}, []int64{load.Units, int64(load.StockRows)})
		rows, own = stocks(t, s, c)
		require.Equal(t, []int64{3, 3, 3}, rows)
		require.Zero(t, own)

		s.splitsStock = false
		load, err = s.Coupons().NextEpoch(t.Context(), c.ID, load.Epoch, 3, coupon.KeepState)
		require.NoError(t, err)
		require.Equal(t, []int64{9, 0}, []int64{load.Units, int64(load.StockRows)})
		rows, own = stocks(t, s, c)
		require.Empty(t, rows)
		require.EqualValues(t, 9, own)
		left(t, s, c)
	})
}

func TestAnOrderTakesItsUnitFromTheRowOfItsShard(t *testing.T) {
	onEach(t, func(t *testing.T, s *subject) {
		for name, by := range map[string]func(*subject) *subject{
			"single": func(s *subject) *subject { return s.alone() },
			"group":  func(s *subject) *subject { g, _ := s.grouped(GroupOptions{}); return g },
		} {
			t.Run(name, func(t *testing.T) {
				s := by(s)
				c := splitSale(t, s, 4, 4)
				id := 100 * c.ID
				require.NoError(t, place(t.Context(), s, c, from(c, id, 1)))
				require.ErrorIs(t, place(t.Context(), s, c, from(c, id+1, 1)), coupon.ErrSoldOut)
				require.ErrorIs(t, place(t.Context(), s, c, from(c, id+2, 4)), coupon.ErrSoldOut, "there is no such shard")
				require.NoError(t, place(t.Context(), s, c, from(c, id+3, 0)))
				rows, own := stocks(t, s, c)
				require.Equal(t, []int64{0, 0, 1, 1}, rows)
				require.Zero(t, own)

				before := c
				before.Epoch--
				require.ErrorIs(t, place(t.Context(), s, before, from(c, id+4, 2)), order.ErrStaleEpoch)
				before.Epoch, before.StockRows = c.Epoch, 0
				require.ErrorIs(t, place(t.Context(), s, before, from(c, id+5, 2)), coupon.ErrSoldOut, "its own row has none")
				unknown := c
				unknown.ID = 4711
				require.ErrorIs(t, place(t.Context(), s, unknown, from(unknown, id+6, 2)), coupon.ErrNotFound)
				left(t, s, c)
			})
		}
	})
}

// A group takes from the rows of several shards and of a coupon without any. Whose row has too few is
// refused, and the others are committed.
func TestAGroupTakesFromManyRows(t *testing.T) {
	onEach(t, func(t *testing.T, s *subject) {
		split := splitSale(t, s, 8, 4) // two a shard
		s.splitsStock = false
		plain := onSale(t, s, 1)
		_, g := s.grouped(GroupOptions{})
		var all []order.Placement
		for id := int64(1); id <= 7; id++ {
			all = append(all, placement(split, from(split, id, int(id%2)))) // four want of shard 1, three of shard 0
		}
		for id := int64(8); id <= 9; id++ {
			all = append(all, placement(plain, wish(plain, id, id)))
		}
		refused := map[string]int{}
		for i, p := range g.PlaceMany(t.Context(), all) {
			if p.Err != nil {
				require.ErrorIs(t, p.Err, coupon.ErrSoldOut)
				refused[fmt.Sprint(all[i].Order.CouponID, all[i].Order.Shard)]++
			}
		}
		require.Equal(t, map[string]int{
			fmt.Sprint(split.ID, 1): 2, fmt.Sprint(split.ID, 0): 1, fmt.Sprint(plain.ID, 3): 1,
		}, refused)
		rows, _ := stocks(t, s, split)
		require.Equal(t, []int64{0, 0, 2, 2}, rows)
		left(t, s, split)
		left(t, s, plain)
	})
}

// A unit goes back to the row of the shard that will have it: its buyer's home, whichever lent it.
func TestAUnitGoesBackToTheRowOfItsBuyersHome(t *testing.T) {
	onEach(t, func(t *testing.T, s *subject) {
		c := splitSale(t, s, 8, 4)
		for id := int64(1); id <= 6; id++ {
			lender := (coupon.Home(id, 4) + 1) % 4
			require.NoError(t, place(t.Context(), s, c, from(c, id, lender)))
			o, err := s.Get(t.Context(), id, id)
			require.NoError(t, err)
			before, _ := stocks(t, s, c)
			moved, err := cancelOrder(t.Context(), s, o)
			require.NoError(t, err)
			require.True(t, moved)
			after, own := stocks(t, s, c)
			before[coupon.Home(id, 4)]++
			require.Equal(t, before, after)
			require.Zero(t, own)
			raw(t, s, "UPDATE coupon_stock SET stock = 2 WHERE coupon_id = ?", c.ID)
		}
		left(t, s, c)
	})
}

// Whatever ends an epoch waits for the orders that have taken a unit, and merges the rest.
func TestWhateverEndsAnEpochMergesTheStock(t *testing.T) {
	for name, end := range map[string]func(ctx context.Context, s *subject, c coupon.Coupon) error{
		"a publication": func(ctx context.Context, s *subject, c coupon.Coupon) error {
			s.splitsStock = false
			_, err := s.Coupons().NextEpoch(ctx, c.ID, c.Epoch, 4, coupon.KeepState)
			return err
		},
		"a change of the stock": func(ctx context.Context, s *subject, c coupon.Coupon) error {
			_, err := s.Coupons().Change(ctx, c.ID, func(c *coupon.Coupon) error {
				c.Total, c.Left, c.Epoch = c.Total+5, c.Left+5, c.Epoch+1
				return nil
			})
			return err
		},
		"a set-back": func(ctx context.Context, s *subject, _ coupon.Coupon) error {
			known, err := s.Coupons().Heartbeat(ctx, coupon.Owner{})
			if err != nil {
				return err
			}
			known.Mark += 1_000_000
			_, err = s.Coupons().Heartbeat(ctx, known)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, s *subject) {
				c := splitSale(t, s, 10, 4)
				ended := make(chan error, 1)
				require.NoError(t, s.InTx(t.Context(), func(ctx context.Context, tx order.Tx) error {
					if err := placing(ctx, tx, c, from(c, 1, 1)); err != nil {
						return err
					}
					untilItWaits(t, s, func() { ended <- end(context.WithoutCancel(ctx), s, c) })
					require.Empty(t, ended)
					return nil
				}))
				require.NoError(t, <-ended)
				rows, own := stocks(t, s, c)
				require.Empty(t, rows)
				now := reread(t, s, c)
				require.Equal(t, []int64{now.Left, 0}, []int64{own, int64(now.StockRows)})
				require.Greater(t, now.Epoch, c.Epoch)
				left(t, s, c)
				require.ErrorIs(t, place(t.Context(), s, c, from(c, 2, 1)), order.ErrStaleEpoch)
				require.NoError(t, place(t.Context(), s, now, from(c, 3, 1)))
			})
		})
	}
}

// What changes nothing about the epoch leaves the rows as they are.
func TestAChangeWithinAnEpochLeavesTheRows(t *testing.T) {
	onEach(t, func(t *testing.T, s *subject) {
		c := splitSale(t, s, 10, 4)
		changed, err := s.Coupons().Change(t.Context(), c.ID, func(of *coupon.Coupon) error {
			require.EqualValues(t, 10, of.Left)
			of.State = coupon.Paused
			return nil
		})
		require.NoError(t, err)
		c.State = coupon.Paused
		require.Equal(t, c, changed)
		require.Equal(t, c, reread(t, s, c))
		rows, own := stocks(t, s, c)
		require.Equal(t, []int64{3, 3, 2, 2}, rows)
		require.Zero(t, own)
	})
}

// A unit that goes back while an epoch ends belongs to one of the two, stock and outbox alike.
func TestAUnitThatGoesBackWhileAnEpochEndsBelongsToTheNext(t *testing.T) {
	s := onMariaDB(t)
	for _, split := range []bool{false, true} {
		c := splitSale(t, s, 10, 4)
		if s.splitsStock = split; !split {
			c = onSale(t, s, 10)
		}
		id := 100 * c.ID
		require.NoError(t, place(t.Context(), s, c, from(c, id, 1)))
		o, err := s.Get(t.Context(), id, id)
		require.NoError(t, err)
		ending := session(t, s, fmt.Sprintf("SELECT id FROM coupons WHERE id = %d FOR UPDATE", c.ID),
			fmt.Sprintf("SELECT shard FROM coupon_stock WHERE coupon_id = %d FOR UPDATE", c.ID),
			fmt.Sprintf("UPDATE coupons SET epoch = 3, stock = 9, stock_rows = 0 WHERE id = %d", c.ID),
			fmt.Sprintf("DELETE FROM coupon_stock WHERE coupon_id = %d", c.ID))
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
}

// Orders of one coupon whose units are of different shards do not wait for each other.
func TestOrdersOfDifferentShardsDoNotWaitForEachOther(t *testing.T) {
	s := onMariaDB(t, "innodb_lock_wait_timeout=1")
	c := splitSale(t, s, 10, 4)
	session(t, s, fmt.Sprintf("UPDATE coupon_stock SET stock = stock - 1 WHERE coupon_id = %d AND shard = 1", c.ID))
	for name, by := range map[string]*subject{"single": s.alone(), "group": func() *subject { g, _ := s.grouped(GroupOptions{}); return g }()} {
		for _, shard := range []int{0, 2, 3} {
			require.NoError(t, place(t.Context(), by, c, from(c, int64(len(name)*10+shard), shard)), name)
		}
	}
}

// A program that knows no stock rows may begin an epoch. Its rows are of the one before then, and
// another epoch is begun.
func TestAnEpochWithRowsOfAnotherIsNotResumed(t *testing.T) {
	onEach(t, func(t *testing.T, s *subject) {
		c := splitSale(t, s, 10, 4)
		load, err := s.Coupons().Resume(t.Context(), c.ID, c.Epoch)
		require.NoError(t, err)
		require.Equal(t, coupon.Load{CouponID: c.ID, Epoch: c.Epoch, Shards: 4, Units: 10, StockRows: 4}, load)
		raw(t, s, "UPDATE coupons SET epoch = 3, loading = 1 WHERE id = ?", c.ID)
		_, err = s.Coupons().Resume(t.Context(), c.ID, 3)
		require.ErrorIs(t, err, coupon.ErrTorn)
		load, err = s.Coupons().NextEpoch(t.Context(), c.ID, 3, 4, coupon.KeepState)
		require.NoError(t, err)
		require.EqualValues(t, 10, load.Units)
		left(t, s, c)
	})
}

func TestChange_UnitsAddedToStockRows_EachRowHasTheShareOfItsShard(t *testing.T) {
	onEach(t, func(t *testing.T, s *subject) {
		c := splitSale(t, s, 10, 4)
		for _, more := range []int64{3, 4} {
			_, err := s.Coupons().Change(t.Context(), c.ID, func(c *coupon.Coupon) error {
				c.Total, c.Left, c.Raised = c.Total+more, c.Left+more, c.Raised+more
				return nil
			})
			require.NoError(t, err)
		}
		rows, own := stocks(t, s, c)
		require.Equal(t, []int64{5, 5, 4, 3}, rows, "3 + 2, 3 + 2, 2 + 2, 2 + 1")
		require.Zero(t, own)
		raised := reread(t, s, c)
		require.Equal(t, []int64{17, 17, 7, c.Epoch}, []int64{raised.Total, raised.Left, raised.Raised, raised.Epoch})

		_, err := s.Coupons().NextEpoch(t.Context(), c.ID, c.Epoch, 4, coupon.KeepState)
		require.NoError(t, err)
		next := reread(t, s, c)
		require.Equal(t, []int64{17, 17, 0}, []int64{next.Total, next.Left, next.Raised}, "the epoch began with them")
		rows, _ = stocks(t, s, c)
		require.Equal(t, []int64{5, 4, 4, 4}, rows)
	})
}
