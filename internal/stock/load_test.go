package stock

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
	"example.com/seckill/internal/platform/redisconn"
)

func TestLoad_Units_AreAllDistributed(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s := closed(t, dial(t, o), 11, 4)
		s.requireLoaded(false)
		require.NoError(t, s.Load(t.Context(), s.load))
		s.requireLoaded(true)
		s.wants(0, 3, 3, 3, 2)
		left, err := s.Remaining(t.Context(), s.load.CouponID, 4)
		require.NoError(t, err)
		require.Equal(t, []int64{3, 3, 3, 2}, left)
	})
}

func (s *shop) requireLoaded(want bool) {
	s.t.Helper()
	loaded, err := s.Loaded(s.t.Context(), s.load.CouponID, s.load.Epoch, s.load.Shards)
	require.NoError(s.t, err)
	require.Equal(s.t, want, loaded)
}

func TestLoad_NoShards_IsNotLoaded(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s := closed(t, dial(t, o), 0, 0)
		s.requireLoaded(false)
	})
}

func TestLoad_Repeated_LoadsOnce(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s := closed(t, dial(t, o), 4, 2)
		s.limit = 2
		s.load.Buyers = bought(map[int64]int{s.at(0, 0): 1})
		require.NoError(t, s.Load(t.Context(), s.load))
		require.NoError(t, confirm(t.Context(), s, s.buy(s.at(0, 0))))
		s.buy(s.at(1, 0))
		require.NoError(t, s.Load(t.Context(), s.load))
		s.wants(1, 1, 1)
		require.Equal(t, "2", s.field(0, "buyers", s.at(0, 0)), "bought since, and not forgotten")
	})
}

func TestLoad_Repeated_OpensRemainingShards(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s := closed(t, dial(t, o), 4, 2)
		s.load.Buyers = bought(map[int64]int{s.at(0, 0): 1, s.at(1, 0): 1})
		require.NoError(t, s.Fill(t.Context(), s.load))
		s.does(openScript, step{shard: 0})
		s.requireLoaded(false)
		require.NoError(t, s.Load(t.Context(), s.load))
		s.requireLoaded(true)
		s.wants(0, 2, 2)
	})
}

func TestLoad_NewerEpoch_IsNotOverwritten(t *testing.T) {
	for name, buyers := range map[string]map[int64]int{"with buyers": {1: 1, 2: 1, 3: 1}, "without": nil} {
		t.Run(name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, o redisconn.Options) {
				s := closed(t, dial(t, o), 4, 2)
				s.load.Epoch = 10
				require.NoError(t, s.Load(t.Context(), s.load))
				s.buy(s.at(0, 0))
				older := s.load
				older.Epoch, older.Units, older.Buyers = 9, 100, bought(buyers) // as texts, "9" would be the newer one
				require.ErrorIs(t, s.Load(t.Context(), older), coupon.ErrConflict)
				s.wants(1, 1, 2)
				require.Empty(t, s.field(coupon.Home(1, 2), "buyers", 1))
				s.requireLoaded(true)
			})
		})
	}
}

func TestLoad_OlderEpoch_AddsNoBuyersToTheNewer(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s := closed(t, dial(t, o), 4, 1)
		older := s.load
		older.Buyers = bought(map[int64]int{7: 1})
		s.load.Epoch = 2
		s.does(clearScript, step{0, []any{4, "", layout}})
		require.ErrorIs(t, s.Load(t.Context(), older), coupon.ErrConflict)
		require.NoError(t, s.Load(t.Context(), s.load))
		s.buy(7)
	})
}

func TestLoad_NewerEpoch_DropsTheOlder(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s := open(t, dial(t, o), 4, 2)
		c := s.claim(s.at(0, 0), "r")
		h, err := reserve(t.Context(), s, c)
		require.NoError(t, err)
		require.NoError(t, confirm(t.Context(), s, h))
		require.NoError(t, s.Restock(t.Context(), back(h)))
		s.buy(s.at(0, 1))
		s.load.Epoch = 2
		require.NoError(t, s.Load(t.Context(), s.load))
		s.wants(0, 2, 2)
		for _, hash := range keySuffixes[2:6] {
			require.EqualValues(t, 1, s.client.HLen(t.Context(), tag(s.load.CouponID, 0)+hash).Val(), "the mark alone: %s", hash)
		}
		require.EqualValues(t, 1, s.client.SCard(t.Context(), tag(s.load.CouponID, 0)+"returned").Val())
		s.buy(s.at(0, 1))
	})
}

func TestLoad_Crash_StaysNotLoaded(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s := open(t, dial(t, o), 4, 2)
		s.load.Epoch = 2
		for shard := range 2 {
			s.does(clearScript, step{shard, []any{2, "", layout}})
			s.requireLoaded(false)
			require.ErrorIs(t, s.try(s.at(shard, 0)), coupon.ErrNotLoaded)
			_, err := s.Remaining(t.Context(), s.load.CouponID, 2)
			require.ErrorIs(t, err, coupon.ErrNotLoaded)
		}
		require.NoError(t, s.Fill(t.Context(), s.load))
		require.ErrorIs(t, s.try(s.at(0, 0)), coupon.ErrNotLoaded)
		require.False(t, s.SoldOut(s.load.CouponID, 2))
		require.NoError(t, s.Load(t.Context(), s.load), "the next one goes on")
		s.buy(s.at(0, 0))
	})
}

func TestLoad_Buyers_AreCounted(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		s := closed(t, dial(t, o), 10, 3)
		s.limit = 2
		counts := map[int64]int{}
		for user := range int64(3*buyersPerStep + 100) { // more than one command takes
			counts[user+1] = int(user%2) + 1
		}
		s.load.Buyers = bought(counts)
		require.NoError(t, s.Load(t.Context(), s.load))
		var noted int64
		for shard := range 3 {
			n, err := s.client.HLen(t.Context(), tag(s.load.CouponID, shard)+"buyers").Result()
			require.NoError(t, err)
			noted += n - 1 // without the mark
		}
		require.Equal(t, int64(3*buyersPerStep+100), noted)
		require.ErrorIs(t, s.try(2), order.ErrLimitReached)
		s.buy(1)
		require.ErrorIs(t, s.try(1), order.ErrBusy)
	})
}

// bought reads the counts in pages of 1,000.
func bought(counts map[int64]int) func(context.Context, int64) (coupon.Page, error) {
	users := slices.Sorted(maps.Keys(counts))
	return func(_ context.Context, after int64) (page coupon.Page, _ error) {
		from, _ := slices.BinarySearch(users, after+1)
		page.Through = after
		for _, user := range users[from:min(from+1000, len(users))] {
			page.Buyers = append(page.Buyers, coupon.Buyer{UserID: user, Units: counts[user]})
			page.Through = user
		}
		return page, nil
	}
}

// does runs one step of the loading.
func (s *shop) does(sc script, one step) {
	s.t.Helper()
	_, err := s.Stock.load(s.t.Context(), sc, s.load, []step{one})
	require.NoError(s.t, err)
}

func TestShare_AnyUnits_DifferByOneAndSumUp(t *testing.T) {
	for _, units := range []int64{0, 1, 7, 8, 9, 300, coupon.MaxStock} {
		for shards := 1; shards <= 17; shards++ {
			var sum, least, most int64
			least = units
			for shard := range shards {
				share := coupon.Share(units, shards, shard)
				sum, least, most = sum+share, min(least, share), max(most, share)
			}
			require.Equal(t, units, sum)
			require.LessOrEqual(t, most-least, int64(1))
		}
	}
}

func TestHome_ManyUsers_IsSpreadEvenly(t *testing.T) {
	const users = 100_000
	for _, shards := range []int{2, 3, 7, 8, 16, 64} {
		for name, step := range map[string]int64{"consecutive ids": 1, "ids of one residue": int64(shards), "snowflake ids": 1 << 22} {
			t.Run(fmt.Sprint(shards, " shards, ", name), func(t *testing.T) {
				count := make([]int, shards)
				for i := range int64(users) {
					count[coupon.Home(i*step+1, shards)]++
				}
				// Pearson's test: the sum is about the degrees of freedom, and ten
				// standard deviations above that are no chance.
				want, sum := float64(users)/float64(shards), 0.0
				for _, n := range count {
					sum += (float64(n) - want) * (float64(n) - want) / want
				}
				free := float64(shards - 1)
				require.Less(t, sum, free+10*math.Sqrt(2*free), "%v", count)
			})
		}
	}
}
