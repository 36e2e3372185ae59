package chaos

import (
	"strconv"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
	"example.com/seckill/internal/stock"
	"example.com/seckill/internal/testing/testservers"
)

func TestUnitOf_MarkWithoutALoan_IsNoUnit(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: testservers.Redis(t).Addr()})
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	s := stock.New(client, stock.Options{})
	c := coupon.Load{CouponID: 77, Epoch: 1, Shards: shards, Units: 2} // in two of the shards
	require.NoError(t, s.Load(t.Context(), c))
	unit := func(user int64) int64 {
		return unitOf(t.Context(), client, "77", user, "r"+strconv.FormatInt(user, 10))
	}
	reserve := func(user int64) error {
		return s.Reserve(t.Context(), []order.ReserveRequest{{
			CouponID: 77, UserID: user, RequestID: "r" + strconv.FormatInt(user, 10), OrderID: user, Limit: 1, Epoch: 1, Shards: shards, Alone: true,
		}})[0].Err
	}
	at := func(home int) int64 {
		for user := int64(1); ; user++ {
			if coupon.Home(user, shards) == home {
				return user
			}
		}
	}
	own, lent, none := at(0), at(shards-1), at(shards-2)
	require.Zero(t, unit(own))
	require.NoError(t, reserve(own))
	require.NoError(t, reserve(lent))
	require.ErrorIs(t, reserve(none), coupon.ErrSoldOut)
	require.Equal(t, []int64{own, lent, 0}, []int64{unit(own), unit(lent), unit(none)})

	// The loan is gone, and the mark still stands at home.
	for shard := range shards - 1 {
		require.NoError(t, client.HDel(t.Context(), shardKeys("77", shard)+"holds", strconv.FormatInt(lent, 10)).Err())
	}
	require.True(t, client.HExists(t.Context(), shardKeys("77", shards-1)+"requests", "r"+strconv.FormatInt(lent, 10)).Val())
	require.Zero(t, unit(lent))
}
