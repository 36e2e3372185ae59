package audit_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
)

func TestRepair_SafeFaults_AreRepairedOnce(t *testing.T) {
	s := open(t)
	for name, tc := range map[string]struct {
		broken func(t *testing.T, c coupon.Coupon) error
		loads  int64 // epochs that a loading takes
	}{
		"nothing":        {func(*testing.T, coupon.Coupon) error { return nil }, 0},
		"an old hold":    {func(t *testing.T, c coupon.Coupon) error { s.hold(t, c, 3); return nil }, 0},
		"a unit is owed": {func(t *testing.T, c coupon.Coupon) error { s.owe(t, s.buy(t, c, 3)); return nil }, 0},
		"a shard's counter is wrong": {func(t *testing.T, c coupon.Coupon) error {
			return s.redis.Incr(t.Context(), key(c, 0, "stock")).Err()
		}, 1},
		"a shard is below zero": {func(t *testing.T, c coupon.Coupon) error {
			return s.redis.Set(t.Context(), key(c, 0, "stock"), -3, 0).Err()
		}, 1},
		"a shard is missing": {func(t *testing.T, c coupon.Coupon) error {
			return s.redis.Del(t.Context(), key(c, 0, "stock"), key(c, 0, "meta")).Err()
		}, 1},
		"Redis lost everything": {func(t *testing.T, _ coupon.Coupon) error { return s.redis.FlushAll(t.Context()).Err() }, 1},
		"Redis lost everything and a unit is owed": {func(t *testing.T, c coupon.Coupon) error {
			s.owe(t, s.buy(t, c, 3))
			return s.redis.FlushAll(t.Context()).Err()
		}, 1},
		"Redis knows an order that is nowhere": {func(t *testing.T, c coupon.Coupon) error {
			return s.redis.HSet(t.Context(), key(c, 0, "requests"), "ghost", 4711).Err()
		}, 1},
		"Redis counts a user's orders wrong": {func(t *testing.T, c coupon.Coupon) error {
			return s.redis.Del(t.Context(), key(c, coupon.Home(1, shards), "buyers")).Err()
		}, 1},
		"a shard's counter is wrong in a pause": {func(t *testing.T, c coupon.Coupon) error {
			_, err := s.coupons.Pause(t.Context(), c.ID)
			require.NoError(t, err)
			return s.redis.Incr(t.Context(), key(c, 0, "stock")).Err()
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			c := s.sell(t, 10)
			s.buy(t, c, 1)
			require.NoError(t, tc.broken(t, c))
			before, err := s.coupons.Read(t.Context(), c.ID)
			require.NoError(t, err)
			for range 3 {
				r, err := s.Repair(t.Context(), c.ID)
				require.NoError(t, err)
				require.True(t, r.Clean && r.Settled, "%+v", r)
				require.EqualValues(t, 9, r.Redis)
			}
			after, err := s.coupons.Read(t.Context(), c.ID)
			require.NoError(t, err)
			require.Equal(t, before.State, after.State)
			require.Equal(t, before.Epoch+tc.loads, after.Epoch)
			if after.State == coupon.OnSale {
				s.buy(t, c, 1)
			}
		})
	}
}

// No loading repairs the database itself, so it is not tried again and again.
func TestRepair_LoadingDoesNotHelp_LoadsOnce(t *testing.T) {
	s := open(t)
	c := s.sell(t, 10)
	s.buy(t, c, 1)
	s.exec(t, "UPDATE coupons SET stock = stock - 1 WHERE id = ?", c.ID)
	for range 3 {
		r, err := s.Repair(t.Context(), c.ID)
		require.NoError(t, err)
		require.False(t, r.Clean)
		require.EqualValues(t, 8, r.Redis, "the shards sell what the database has")
	}
	after, err := s.coupons.Read(t.Context(), c.ID)
	require.NoError(t, err)
	require.Equal(t, c.Epoch+1, after.Epoch)
}

func TestRepair_EndedSale_IsReconciledNotLoaded(t *testing.T) {
	s := open(t)
	c := s.sell(t, 10)
	s.hold(t, c, 3)
	s.owe(t, s.buy(t, c, 4))
	_, err := s.coupons.Patch(t.Context(), c.ID, coupon.Change{End: true})
	require.NoError(t, err)
	r, err := s.Repair(t.Context(), c.ID)
	require.NoError(t, err)
	require.True(t, r.Clean && r.Settled, "%+v", r)

	require.NoError(t, s.redis.Incr(t.Context(), key(c, 0, "stock")).Err())
	r, err = s.Repair(t.Context(), c.ID)
	require.NoError(t, err, "it cannot be mended, and is told")
	require.False(t, r.Clean)
	after, err := s.coupons.Read(t.Context(), c.ID)
	require.NoError(t, err)
	require.Equal(t, c.Epoch, after.Epoch)
}
