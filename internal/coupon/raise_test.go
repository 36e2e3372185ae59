package coupon_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// total is the change that puts so many units on sale.
func total(units int64) coupon.Change { return coupon.Change{Total: &units} }

// raising are shards to which units are added with before and after around it. An error of before keeps the
// units from them, and one of after is a lost reply.
type raising struct {
	coupon.Shards
	before, after func() error
}

func (r raising) Raise(ctx context.Context, id, epoch int64, n int, raised int64) error {
	if err := r.before(); err != nil {
		return err
	}
	return errors.Join(r.Shards.Raise(ctx, id, epoch, n, raised), r.after())
}

func well() error { return nil }

func fails() error { return errCrash }

// dying is an instance that dies when the database has the units, and no shard.
func (s *shop) dying() *coupon.Service {
	return s.with(func(p *coupon.Deps) { p.Shards = raising{p.Shards, fails, well} })
}

func TestPatch_MoreUnitsOfASoldOutSale_AreBoughtInTheSameEpoch(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		c := s.published(t, 3)
		for user := range int64(3) {
			require.NoError(t, s.buy(t.Context(), c, user+1, user+1))
		}
		require.ErrorIs(t, s.buy(t.Context(), c, 9, 9), coupon.ErrSoldOut)
		require.True(t, s.stock.SoldOut(c.ID, c.Epoch))
		for _, units := range []int64{5, 12} {
			raised, err := s.Patch(t.Context(), c.ID, total(units))
			require.NoError(t, err)
			require.Equal(t, c.Epoch, raised.Epoch, "nothing is loaded again")
			require.NoError(t, raised.CheckPurchasable(during))
			require.False(t, s.stock.SoldOut(c.ID, c.Epoch), "buyers are not refused from memory")
			require.Equal(t, units-3, s.loaded(t, c.ID))
			require.Equal(t, int64(3), s.balanced(t, c.ID))
		}
		for user := int64(4); user <= 12; user++ {
			require.NoError(t, s.buy(t.Context(), c, user, user))
		}
		require.ErrorIs(t, s.buy(t.Context(), c, 99, 99), coupon.ErrSoldOut)
	})
}

func TestPatch_InstanceDiesBeforeTheShards_AnyOtherAddsTheUnitsOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		c := s.published(t, 10)
		require.NoError(t, s.buy(t.Context(), c, 1, 1))
		_, err := s.dying().Patch(t.Context(), c.ID, total(17))
		require.NoError(t, err, "the units are added, and the shards get them")
		require.Equal(t, int64(9), s.loaded(t, c.ID))
		stop := s.watching(t, 3, unaltered)
		defer stop()
		require.Eventually(t, func() bool { return s.loaded(t, c.ID) == 16 }, 20*time.Second, 5*time.Millisecond)
		require.Equal(t, c.Epoch, s.now(t, c.ID).Epoch)
		require.Equal(t, int64(1), s.balanced(t, c.ID))
	})
}

func TestPatch_AnswerLost_RepeatAddsNothingTwice(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		c := s.published(t, 10)
		lost := s.with(func(p *coupon.Deps) { p.Shards = raising{p.Shards, well, fails} })
		for _, instance := range []*coupon.Service{lost, s.dying(), s.Service, lost} {
			after, err := instance.Patch(t.Context(), c.ID, total(13))
			require.NoError(t, err)
			require.Equal(t, []int64{13, 13, c.Epoch}, []int64{after.Total, after.Left, after.Epoch})
		}
		require.Zero(t, s.balanced(t, c.ID))
	})
}

func TestPatch_StocksRaisedAtOnce_TheLargestStays(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		c := s.published(t, 10)
		var all []func() error
		for units := int64(11); units <= 26; units++ {
			all = append(all, func() error {
				_, err := s.Patch(t.Context(), c.ID, total(units))
				if errors.Is(err, coupon.ErrConflict) {
					return nil // a larger one came first: this would lower it
				}
				return err
			})
		}
		for _, err := range together(all...) {
			require.NoError(t, err)
		}
		require.Equal(t, int64(26), s.now(t, c.ID).Total)
		require.Zero(t, s.balanced(t, c.ID))
	})
}

// The epoch that is loaded after Redis has lost its data has the units, whether or not the lost shards had them.
func TestPatch_RedisLosesItsData_UnitsCountOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		c := s.published(t, 10)
		forget := func() error { return s.redis.FlushAll(t.Context()).Err() }
		for name, altered := range map[string]func(coupon.Shards) coupon.Shards{
			"before they are added": func(s coupon.Shards) coupon.Shards { return raising{s, forget, well} },
			"after they are added":  func(s coupon.Shards) coupon.Shards { return raising{s, well, forget} },
		} {
			before := s.now(t, c.ID)
			_, err := s.with(func(p *coupon.Deps) { p.Shards = altered(p.Shards) }).Patch(t.Context(), c.ID, total(before.Total+5))
			require.NoError(t, err, name)
			after := s.watched(t, c.ID)
			require.Greater(t, after.Epoch, before.Epoch, name)
			require.Zero(t, after.Raised, name)
			require.Equal(t, before.Total+5, s.loaded(t, c.ID), name)
			require.ErrorIs(t, s.stock.Raise(t.Context(), c.ID, before.Epoch, shards, 5), coupon.ErrNotLoaded, name)
			require.Zero(t, s.balanced(t, c.ID), name)
		}
	})
}

func TestPatch_MoreUnitsWhileTheStockIsLoaded_CountOnce(t *testing.T) {
	for name, during := range map[string]func(p *coupon.Deps, patch func()){
		"filled": func(p *coupon.Deps, patch func()) { p.Shards = heldUp{p.Shards, patch} },
		"opened": func(p *coupon.Deps, patch func()) { p.Shards = opened{p.Shards, patch} },
	} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, s *shop) {
				c := s.published(t, 10)
				require.NoError(t, s.buy(t.Context(), c, 1, 1))
				raised := false
				_, err := s.with(func(p *coupon.Deps) {
					during(p, func() {
						_, err := s.Patch(t.Context(), c.ID, total(15))
						require.NoError(t, err)
						raised = true
					})
				}).Reload(t.Context(), c.ID)
				if err != nil {
					require.True(t, errors.Is(err, coupon.ErrConflict) || errors.Is(err, errCrash), "%v", err)
				}
				require.True(t, raised)
				after := s.watched(t, c.ID)
				require.Equal(t, int64(15), after.Total)
				stop := s.watching(t, 1, unaltered)
				defer stop()
				require.Eventually(t, func() bool { return s.loaded(t, c.ID) == 14 }, 20*time.Second, 5*time.Millisecond)
				require.Equal(t, int64(1), s.balanced(t, c.ID))
				require.NoError(t, s.buy(t.Context(), after, 2, 2))
				require.ErrorIs(t, s.buy(t.Context(), c, 3, 3), order.ErrStaleEpoch)
			})
		})
	}
}

func TestPatch_SaleEndsBeforeTheShardsHaveTheUnits_TheyGetThem(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		c := s.published(t, 10)
		_, err := s.dying().Patch(t.Context(), c.ID, total(15))
		require.NoError(t, err)
		_, err = s.Patch(t.Context(), c.ID, coupon.Change{End: true})
		require.NoError(t, err)
		stop := s.watching(t, 1, unaltered)
		defer stop()
		require.Eventually(t, func() bool { return s.loaded(t, c.ID) == 15 }, 20*time.Second, 5*time.Millisecond)
	})
}
